// SPDX-License-Identifier: BSD-3-Clause
// stencil.cpp - exchanges of each rank of a grid with its neighbors, in the C interface.
#include <memory>
#include <vector>

#include "api/c/calls.hpp"
#include "run/team/stencil_exchange.hpp"
#include "weft/neighbors.h"

namespace c_api = weft::c_api;
using weft::Rank;
using weft::Status;
using weft::base::Done;
using weft::base::fail;
using weft::base::Result;
using weft::run::StencilExchange;

struct weft_stencil {
    weft_team* team = nullptr;
    StencilExchange exchange;
};

namespace {

Result<void> make(weft_team* team, int dimensions, const int* extents, const int* periodic,
                  bool star, int reach, weft_stencil** out) {
    if (out == nullptr) return fail(Status::argument, "out is NULL");
    *out = nullptr;
    const auto found = c_api::find(team);
    if (!found) return found.failure();
    if (dimensions < 1 || extents == nullptr || periodic == nullptr)
        return fail(Status::argument,
                    "expected extents and periodic of 1 dimension at least, got {}", dimensions);
    auto stencil = weft::run::grid_stencil(
        found->team->size(), std::vector<Rank>(extents, extents + dimensions),
        std::vector<bool>(periodic, periodic + dimensions), star, reach);
    if (!stencil) return stencil.failure();
    *out = std::make_unique<weft_stencil>(
               weft_stencil{team, StencilExchange(*found->team, *std::move(stencil))})
               .release();
    return Done{};
}

weft_status run(const char* function, weft_stencil* stencil, StencilExchange::Data data,
                const void* in, void* out, size_t count, weft_type type) {
    return c_api::guarded(function, [&]() -> Result<void> {
        if (stencil == nullptr) return fail(Status::argument, "stencil is NULL");
        const auto found = c_api::find(stencil->team);
        if (!found) return found.failure();
        const auto element_type = c_api::type_of(type);
        if (!element_type) return element_type.failure();
        return stencil->exchange.run(data, in, out, count, *element_type);
    });
}

}  // namespace

extern "C" weft_status weft_stencil_create(weft_team* team, int dimensions, const int* extents,
                                           const int* periodic, int star, int reach,
                                           weft_stencil** out) {
    return c_api::guarded(
        __func__, [&] { return make(team, dimensions, extents, periodic, star != 0, reach, out); });
}

extern "C" weft_status weft_stencil_free(weft_stencil** stencil) {
    return c_api::guarded(__func__, [&] { return c_api::delete_object(stencil, "stencil"); });
}

extern "C" int weft_stencil_blocks(const weft_stencil* stencil) {
    return stencil == nullptr ? -1 : static_cast<int>(stencil->exchange.neighbors().size());
}

extern "C" int weft_stencil_neighbor(const weft_stencil* stencil, int block) {
    if (block < 0 || block >= weft_stencil_blocks(stencil)) return -1;
    return stencil->exchange.neighbors()[static_cast<std::size_t>(block)];
}

extern "C" weft_status weft_stencil_set_way(weft_stencil* stencil, weft_way way) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        if (stencil == nullptr) return fail(Status::argument, "stencil is NULL");
        if (way != WEFT_WAY_PREDICTED && way != WEFT_WAY_DIRECT && way != WEFT_WAY_COMBINED)
            return fail(Status::argument,
                        "way: {} is unknown, expected {} (predicted), {} (direct) or {} (combined)",
                        static_cast<int>(way), static_cast<int>(WEFT_WAY_PREDICTED),
                        static_cast<int>(WEFT_WAY_DIRECT), static_cast<int>(WEFT_WAY_COMBINED));
        if (way == WEFT_WAY_PREDICTED)
            stencil->exchange.force({});
        else
            stencil->exchange.force(way == WEFT_WAY_DIRECT ? StencilExchange::Way::direct
                                                           : StencilExchange::Way::combined);
        return Done{};
    });
}

extern "C" weft_status weft_stencil_alltoall(weft_stencil* stencil, const void* in, void* out,
                                             size_t count, weft_type type) {
    return run(__func__, stencil, StencilExchange::Data::own, in, out, count, type);
}

extern "C" weft_status weft_stencil_allgather(weft_stencil* stencil, const void* in, void* out,
                                              size_t count, weft_type type) {
    return run(__func__, stencil, StencilExchange::Data::same, in, out, count, type);
}
