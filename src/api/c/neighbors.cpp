// SPDX-License-Identifier: BSD-3-Clause
// neighbors.cpp - exchanges with neighbors in the C interface: calls of weft::Neighbors.
#include "weft/neighbors.h"

#include <memory>
#include <span>
#include <vector>

#include "api/c/calls.hpp"
#include "run/team/stencil_exchange.hpp"
#include "weft/neighbors.hpp"

namespace c_api = weft::c_api;
using c_api::BlockArguments;
using weft::Blocks;
using weft::Neighbors;
using weft::Rank;
using weft::Status;
using weft::base::Done;
using weft::base::fail;
using weft::base::Result;

struct weft_neighbors {
    weft_team* team = nullptr;
    Neighbors list;
};

namespace {

Result<std::vector<Rank>> ranks_of(const int* ranks, int count, const char* what) {
    if (count < 0 || (ranks == nullptr && count > 0))
        return fail(Status::argument, "{}: expected an array of its count, which is {}", what,
                    count);
    return std::vector<Rank>(ranks, ranks + count);
}

/// Sets *out to the list that make_for(team) returns. Neighbors throws weft::Error on failures.
template <class Make>
Result<void> make(weft_team* team, weft_neighbors** out, Make make_for) {
    if (out == nullptr) return fail(Status::argument, "out is NULL");
    *out = nullptr;
    const auto found = c_api::find(team);
    if (!found) return found.failure();
    try {
        Result<Neighbors> made = make_for(*found->team);
        if (!made) return made.failure();
        *out = std::make_unique<weft_neighbors>(weft_neighbors{team, *std::move(made)}).release();
    } catch (const weft::Error& error) {
        return fail(error.status(), "{}", error.what());
    }
    return Done{};
}

c_api::CallArguments arguments_of(const weft::Call& call, weft_type type) {
    const auto given = [](const Blocks& blocks) {
        return BlockArguments{blocks.counts.data(), blocks.displacements.data()};
    };
    return {weft::Collective::alltoallv,
            call.in,
            call.out,
            0,
            type,
            WEFT_SUM,
            -1,
            given(call.in_blocks),
            given(call.out_blocks)};
}

/// Makes the call that call_of(neighbors) returns, by `form`: run, start or prepare of calls.hpp.
template <class CallOf, class Form, class... Request>
weft_status with_call(const char* function, weft_neighbors* neighbors, weft_type type,
                      CallOf call_of, Form form, Request... request) noexcept {
    try {
        if (neighbors == nullptr)
            return c_api::refuse(function, Status::argument, "neighbors is NULL");
        return form(function, neighbors->team, arguments_of(call_of(neighbors->list), type),
                    request...);
    } catch (const weft::Error& error) {
        return c_api::refuse(function, error.status(), error.what());
    } catch (...) {
        return c_api::refuse_exception(function);
    }
}

int count_of(std::span<const Rank> ranks) {
    return static_cast<int>(ranks.size());
}

}  // namespace

extern "C" weft_status weft_neighbors_create(weft_team* team, const int* sources, int source_count,
                                             const int* destinations, int destination_count,
                                             weft_neighbors** out) {
    return c_api::guarded(__func__, [&] {
        return make(team, out, [&](const weft::run::Team& parent) -> Result<Neighbors> {
            auto from = ranks_of(sources, source_count, "sources");
            if (!from) return from.failure();
            auto to = ranks_of(destinations, destination_count, "destinations");
            if (!to) return to.failure();
            return Neighbors(parent.size(), *std::move(from), *std::move(to));
        });
    });
}

extern "C" weft_status weft_neighbors_on_grid(weft_team* team, int dimensions, const int* extents,
                                              const int* periodic, weft_neighbors** out) {
    return c_api::guarded(__func__, [&] {
        return make(team, out, [&](const weft::run::Team& parent) -> Result<Neighbors> {
            if (dimensions < 1 || extents == nullptr || periodic == nullptr)
                return fail(Status::argument,
                            "expected extents and periodic of 1 dimension at least, got {}",
                            dimensions);
            const std::span grid(extents, static_cast<std::size_t>(dimensions));
            if (auto checked = weft::run::check_extents(parent.size(), grid); !checked)
                return checked.failure();
            return Neighbors::on_grid(grid, std::vector<bool>(periodic, periodic + dimensions),
                                      parent.rank());
        });
    });
}

extern "C" weft_status weft_neighbors_free(weft_neighbors** neighbors) {
    return c_api::guarded(__func__, [&] { return c_api::delete_object(neighbors, "neighbors"); });
}

extern "C" int weft_neighbors_sources(const weft_neighbors* neighbors) {
    return neighbors == nullptr ? -1 : count_of(neighbors->list.sources());
}
extern "C" int weft_neighbors_destinations(const weft_neighbors* neighbors) {
    return neighbors == nullptr ? -1 : count_of(neighbors->list.destinations());
}

/// Defines the three forms of an exchange: weft_NAME, weft_iNAME and weft_NAME_init. `parameters`,
/// in parentheses, are the parameters between the neighbors and the request. The last argument
/// makes the Call from the Neighbors `list`.
#define WEFT_FORMS(name, parameters, ...)                                                          \
    extern "C" weft_status weft_##name(weft_neighbors* neighbors, WEFT_LIST parameters) {          \
        return with_call(                                                                          \
            __func__, neighbors, type, [&](Neighbors& list) { return __VA_ARGS__; }, c_api::run);  \
    }                                                                                              \
    extern "C" weft_status weft_i##name(weft_neighbors* neighbors, WEFT_LIST parameters,           \
                                        weft_request** request) {                                  \
        return with_call(                                                                          \
            __func__, neighbors, type, [&](Neighbors& list) { return __VA_ARGS__; }, c_api::start, \
            request);                                                                              \
    }                                                                                              \
    extern "C" weft_status weft_##name##_init(weft_neighbors* neighbors, WEFT_LIST parameters,     \
                                              weft_request** request) {                            \
        return with_call(                                                                          \
            __func__, neighbors, type, [&](Neighbors& list) { return __VA_ARGS__; },               \
            c_api::prepare, request);                                                              \
    }
#define WEFT_LIST(...) __VA_ARGS__

// Each Call has the type uint8 for the time being: arguments_of() passes the real type, which may
// be a pair.
WEFT_FORMS(neighbor_alltoall, (const void* in, void* out, size_t count, weft_type type),
           list.alltoall(in, out, count, weft::Type::uint8))
WEFT_FORMS(neighbor_allgather, (const void* in, void* out, size_t count, weft_type type),
           list.allgather(in, out, count, weft::Type::uint8))
WEFT_FORMS(
    neighbor_alltoallv,
    (const void* in, const size_t* in_counts, const size_t* in_displacements, void* out,
     const size_t* out_counts, const size_t* out_displacements, weft_type type),
    list.alltoallv(in, BlockArguments{in_counts, in_displacements}.of(list.destinations().size()),
                   out, BlockArguments{out_counts, out_displacements}.of(list.sources().size()),
                   weft::Type::uint8))
WEFT_FORMS(neighbor_allgatherv,
           (const void* in, size_t count, void* out, const size_t* counts,
            const size_t* displacements, weft_type type),
           list.allgatherv(in, count, out,
                           BlockArguments{counts, displacements}.of(list.sources().size()),
                           weft::Type::uint8))

#undef WEFT_LIST
#undef WEFT_FORMS
