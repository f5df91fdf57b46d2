// SPDX-License-Identifier: BSD-3-Clause
// neighbors.cpp - exchanges with neighbors in the C interface, by weft::Neighbors (any graph) and
// run::StencilExchange (stencils on a grid).
#include "weft/neighbors.h"

#include <span>
#include <vector>

#include "api/c/calls.hpp"
#include "run/team/stencil_exchange.hpp"
#include "weft/neighbors.hpp"

using namespace weft;
using namespace weft::c_api;

struct weft_neighbors {
    weft_team* team = nullptr;
    Neighbors list;
};

struct weft_stencil {
    weft_team* team = nullptr;
    run::StencilExchange exchange;
};

namespace {

/// Copies an argument of ranks. `name`: of the argument, for a failure.
Result<std::vector<Rank>> ranks_of(const int* ranks, int count, const char* name) {
    if (count < 0)
        return fail(Status::argument, "{}: their count is {}, expected 0 or more", name, count);
    if (ranks == nullptr && count > 0)
        return fail(Status::argument, "{} is NULL, expected {} ranks", name, count);
    return std::vector<Rank>(ranks, ranks + count);
}

/// Sets *out to a handle of the team and of the object that make_for(team) returns.
template <class Handle, class Make>
weft_status create(const char* function, weft_team* team, Handle** out, Make make_for) noexcept {
    return guarded(function, [&]() -> Result<void> {
        if (out == nullptr) return fail(Status::argument, "out is NULL");
        *out = nullptr;
        const auto found = WEFT_TRY(find(team));
        *out = new Handle{team, WEFT_TRY(make_for(*found.team))};
        return Done{};
    });
}

Result<void> check_grid(int dimensions, const int* extents, const int* periodic) {
    if (dimensions < 1)
        return fail(Status::argument, "dimensions is {}, expected 1 or more", dimensions);
    if (extents == nullptr || periodic == nullptr)
        return fail(Status::argument, "{} is NULL", extents == nullptr ? "extents" : "periodic");
    return Done{};
}

/// Converts a call of Neighbors, an alltoallv, to C arguments with the element type `type`.
CallArguments arguments_of(const Call& call, weft_type type) {
    const auto pointers = [](const Blocks& blocks) {
        return BlockArguments{blocks.counts.data(), blocks.displacements.data()};
    };
    return {.collective = Collective::alltoallv,
            .in = call.in,
            .out = call.out,
            .type = type,
            .in_blocks = pointers(call.in_blocks),
            .out_blocks = pointers(call.out_blocks)};
}

/// Makes the call that call_of(neighbors) returns, by `form`: run, start or prepare of calls.hpp.
template <class CallOf, class Form, class... Request>
weft_status with_call(const char* function, weft_neighbors* neighbors, weft_type type,
                      CallOf call_of, Form form, Request... request) noexcept {
    try {
        if (neighbors == nullptr) return refuse(function, Status::argument, "neighbors is NULL");
        return form(function, neighbors->team, arguments_of(call_of(neighbors->list), type),
                    request...);
    } catch (...) {
        return refuse_exception(function);
    }
}

weft_status exchange(const char* function, weft_stencil* stencil, run::StencilExchange::Data data,
                     const void* in, void* out, size_t count, weft_type type) {
    return guarded(function, [&]() -> Result<void> {
        if (stencil == nullptr) return fail(Status::argument, "stencil is NULL");
        WEFT_TRY(find(stencil->team));  // the team may have ended
        const auto element_type = WEFT_TRY(type_of(type));
        return stencil->exchange.run(data, in, out, count, element_type);
    });
}

}  // namespace

extern "C" weft_status weft_neighbors_create(weft_team* team, const int* sources, int source_count,
                                             const int* destinations, int destination_count,
                                             weft_neighbors** out) {
    return create(__func__, team, out, [&](const run::Team& parent) -> Result<Neighbors> {
        auto from = WEFT_TRY(ranks_of(sources, source_count, "sources"));
        auto to = WEFT_TRY(ranks_of(destinations, destination_count, "destinations"));
        return Neighbors(parent.size(), std::move(from), std::move(to));
    });
}

extern "C" weft_status weft_neighbors_on_grid(weft_team* team, int dimensions, const int* extents,
                                              const int* periodic, weft_neighbors** out) {
    return create(__func__, team, out, [&](const run::Team& parent) -> Result<Neighbors> {
        WEFT_TRY(check_grid(dimensions, extents, periodic));
        const std::span grid(extents, static_cast<std::size_t>(dimensions));
        WEFT_TRY(run::check_extents(parent.size(), grid));
        return Neighbors::on_grid(grid, std::vector<bool>(periodic, periodic + dimensions),
                                  parent.rank());
    });
}

extern "C" weft_status weft_neighbors_free(weft_neighbors** neighbors) {
    return guarded(__func__, [&] { return delete_object(neighbors, "neighbors"); });
}

extern "C" int weft_neighbors_sources(const weft_neighbors* neighbors) {
    return neighbors == nullptr ? -1 : static_cast<int>(neighbors->list.sources().size());
}
extern "C" int weft_neighbors_destinations(const weft_neighbors* neighbors) {
    return neighbors == nullptr ? -1 : static_cast<int>(neighbors->list.destinations().size());
}

/// Defines the three forms of an exchange: weft_NAME, weft_iNAME and weft_NAME_init. `parameters`,
/// in parentheses, are the parameters between the neighbors and the request. The last argument
/// makes the Call from the Neighbors `list`.
#define WEFT_FORMS(name, parameters, ...)                                                      \
    extern "C" weft_status weft_##name(weft_neighbors* neighbors, WEFT_LIST parameters) {      \
        const auto call = [&](Neighbors& list) { return __VA_ARGS__; };                        \
        return with_call(__func__, neighbors, type, call, c_api::run);                         \
    }                                                                                          \
    extern "C" weft_status weft_i##name(weft_neighbors* neighbors, WEFT_LIST parameters,       \
                                        weft_request** request) {                              \
        const auto call = [&](Neighbors& list) { return __VA_ARGS__; };                        \
        return with_call(__func__, neighbors, type, call, start, request);                     \
    }                                                                                          \
    extern "C" weft_status weft_##name##_init(weft_neighbors* neighbors, WEFT_LIST parameters, \
                                              weft_request** request) {                        \
        const auto call = [&](Neighbors& list) { return __VA_ARGS__; };                        \
        return with_call(__func__, neighbors, type, call, prepare, request);                   \
    }
#define WEFT_LIST(...) __VA_ARGS__

// The type uint8 of each Call is ignored: arguments_of() sets the type that the program passes.
WEFT_FORMS(neighbor_alltoall, (const void* in, void* out, size_t count, weft_type type),
           list.alltoall(in, out, count, Type::uint8))
WEFT_FORMS(neighbor_allgather, (const void* in, void* out, size_t count, weft_type type),
           list.allgather(in, out, count, Type::uint8))
WEFT_FORMS(
    neighbor_alltoallv,
    (const void* in, const size_t* in_counts, const size_t* in_displacements, void* out,
     const size_t* out_counts, const size_t* out_displacements, weft_type type),
    list.alltoallv(in, BlockArguments{in_counts, in_displacements}.of(list.destinations().size()),
                   out, BlockArguments{out_counts, out_displacements}.of(list.sources().size()),
                   Type::uint8))
WEFT_FORMS(neighbor_allgatherv,
           (const void* in, size_t count, void* out, const size_t* counts,
            const size_t* displacements, weft_type type),
           list.allgatherv(in, count, out,
                           BlockArguments{counts, displacements}.of(list.sources().size()),
                           Type::uint8))

#undef WEFT_LIST
#undef WEFT_FORMS

// --- stencils ------------------------------------------------------------------------------------

extern "C" weft_status weft_stencil_create(weft_team* team, int dimensions, const int* extents,
                                           const int* periodic, int star, int reach,
                                           weft_stencil** out) {
    return create(__func__, team, out, [&](run::Team& parent) -> Result<run::StencilExchange> {
        WEFT_TRY(check_grid(dimensions, extents, periodic));
        auto stencil = WEFT_TRY(run::grid_stencil(
            parent.size(), std::vector<Rank>(extents, extents + dimensions),
            std::vector<bool>(periodic, periodic + dimensions), star != 0, reach));
        return run::StencilExchange(parent, std::move(stencil));
    });
}

extern "C" weft_status weft_stencil_free(weft_stencil** stencil) {
    return guarded(__func__, [&] { return delete_object(stencil, "stencil"); });
}

extern "C" int weft_stencil_blocks(const weft_stencil* stencil) {
    return stencil == nullptr ? -1 : static_cast<int>(stencil->exchange.neighbors().size());
}

extern "C" int weft_stencil_neighbor(const weft_stencil* stencil, int block) {
    if (block < 0 || block >= weft_stencil_blocks(stencil)) return -1;
    return stencil->exchange.neighbors()[static_cast<std::size_t>(block)];
}

extern "C" weft_status weft_stencil_set_way(weft_stencil* stencil, weft_way way) {
    return guarded(__func__, [&]() -> Result<void> {
        using Way = run::StencilExchange::Way;
        if (stencil == nullptr) return fail(Status::argument, "stencil is NULL");
        if (way == WEFT_WAY_PREDICTED)
            stencil->exchange.force({});
        else if (way == WEFT_WAY_DIRECT || way == WEFT_WAY_COMBINED)
            stencil->exchange.force(way == WEFT_WAY_DIRECT ? Way::direct : Way::combined);
        else
            return fail(Status::argument, "way is {}, expected a weft_way", static_cast<int>(way));
        return Done{};
    });
}

extern "C" weft_status weft_stencil_alltoall(weft_stencil* stencil, const void* in, void* out,
                                             size_t count, weft_type type) {
    return exchange(__func__, stencil, run::StencilExchange::Data::own, in, out, count, type);
}

extern "C" weft_status weft_stencil_allgather(weft_stencil* stencil, const void* in, void* out,
                                              size_t count, weft_type type) {
    return exchange(__func__, stencil, run::StencilExchange::Data::same, in, out, count, type);
}
