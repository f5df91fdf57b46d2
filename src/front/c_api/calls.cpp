// SPDX-License-Identifier: BSD-3-Clause
#include "front/c_api/calls.hpp"

#include <numeric>
#include <utility>

#include "base/element_types.hpp"
#include "collectives/collective_traits.hpp"

namespace weft::c_api {

base::Result<Request> read_broadcast(void* buffer, std::size_t count, weft_type type, int root) {
    const auto element = type_of(type);
    if (!element) return element.failure();
    if (buffer == WEFT_IN_PLACE)
        // lint: allow(variable): a macro of weft.h
        return base::fail(Status::argument, "the buffer is WEFT_IN_PLACE, expected memory");
    return Request{.shape = run::broadcast_shape(count, *element, root),
                   .buffers = {buffer, buffer}};
}

base::Result<Request> read_allreduce(const void* in, void* out, std::size_t count, weft_type type,
                                     weft_op op) {
    Request call;
    const auto shape = reduction_shape(count, type, op, call.user);
    if (!shape) return shape.failure();
    if (out == WEFT_IN_PLACE)
        return base::fail(Status::argument,
                          // lint: allow(variable): a macro of weft.h
                          "out is WEFT_IN_PLACE, expected memory; `in` may be it");
    call.shape = *shape;
    call.buffers = {in == WEFT_IN_PLACE ? out : in, out};
    return call;
}

base::Result<Request> read_reduce(const void* in, void* out, std::size_t count, weft_type type,
                                  weft_op op, int root) {
    auto call = read_allreduce(in, out, count, type, op);
    if (call) call->shape = run::reduce_shape(call->shape, root);
    return call;
}

base::Result<Request> read_blocks(Collective collective, const Arguments& arguments) {
    const auto element = type_of(arguments.type);
    if (!element) return element.failure();
    if (arguments.out == WEFT_IN_PLACE && collective != Collective::scatter)
        return base::fail(Status::argument,
                          // lint: allow(variable): a macro of weft.h
                          "out is WEFT_IN_PLACE, expected memory; `in` may be it");
    if (arguments.in == WEFT_IN_PLACE && collective == Collective::scatter)
        return base::fail(Status::argument,
                          // lint: allow(variable): a macro of weft.h
                          "in is WEFT_IN_PLACE, expected memory; the root's `out` may be it");
    return Request{.shape = {.kind = collective,
                             .type = *element,
                             .root = arguments.root,
                             .elements = arguments.count},
                   .buffers = {arguments.in, arguments.out}};
}

base::Result<Request> read_reduction(Collective collective, const Arguments& arguments,
                                     weft_op op) {
    Request call;
    auto shape = reduction_shape(arguments.count, arguments.type, op, call.user);
    if (!shape) return shape.failure();
    if (arguments.out == WEFT_IN_PLACE)
        return base::fail(Status::argument,
                          // lint: allow(variable): a macro of weft.h
                          "out is WEFT_IN_PLACE, expected memory; `in` may be it");
    shape->kind = collective;
    call.shape = *shape;
    call.buffers = {arguments.in, arguments.out};
    return call;
}

namespace {

/// The arrays of a vector's blocks; no counts where they do not count.
base::Result<Blocks> blocks_of(const run::Team& team, std::string_view name,
                               const std::size_t* counts, const std::size_t* displacements) {
    if (counts == nullptr) return base::fail(Status::argument, "{} is NULL", name);
    const auto size = static_cast<std::size_t>(team.size());
    Blocks blocks{.counts = {counts, size}};
    if (displacements != nullptr) blocks.displacements = {displacements, size};
    return blocks;
}

/// Whether `in` (`out`) may be WEFT_IN_PLACE.
base::Result<void> check_in_place(Collective collective, const CountArguments& arguments) {
    const bool out = collective == Collective::scatterv;
    if (arguments.in == WEFT_IN_PLACE && (out || collective == Collective::alltoallv))
        // lint: allow(variable): a macro of weft.h
        return base::fail(Status::argument, "in is WEFT_IN_PLACE, expected memory");
    if (arguments.out == WEFT_IN_PLACE && !out)
        // lint: allow(variable): a macro of weft.h
        return base::fail(Status::argument, "out is WEFT_IN_PLACE, expected memory");
    return {};
}

}  // namespace

base::Result<Request> read_counts(const run::Team& team, Collective collective,
                                  const CountArguments& arguments) {
    Request call;
    if (auto checked = check_in_place(collective, arguments); !checked) return checked.failure();
    if (collective == Collective::reduce_scatterv) {
        const auto shape = reduction_shape(0, arguments.type, arguments.op, call.user);
        if (!shape) return shape.failure();
        call.shape = *shape;
    } else {
        const auto element = type_of(arguments.type);
        if (!element) return element.failure();
        call.shape = {.type = *element, .root = arguments.root, .elements = arguments.count};
    }
    call.shape.kind = collective;
    call.buffers = {arguments.in, arguments.out};
    const bool here = !run::traits_of(collective).rooted() || arguments.root == team.rank();
    const bool all = collective == Collective::alltoallv;
    if (here &&
        (all || collective == Collective::scatterv || collective == Collective::reduce_scatterv)) {
        const auto blocks = blocks_of(team, all ? "in_counts" : "counts", arguments.in_counts,
                                      arguments.in_displacements);
        if (!blocks) return blocks.failure();
        call.shape.in = *blocks;
    }
    if (here &&
        (all || collective == Collective::gatherv || collective == Collective::allgatherv)) {
        const auto blocks = blocks_of(team, all ? "out_counts" : "counts", arguments.out_counts,
                                      arguments.out_displacements);
        if (!blocks) return blocks.failure();
        call.shape.out = *blocks;
    }
    // In place, the root's own count is the one that it has for itself.
    const Blocks& own = collective == Collective::gatherv ? call.shape.out : call.shape.in;
    const bool rooted_in_place = run::traits_of(collective).rooted() && here &&
                                 (arguments.in == WEFT_IN_PLACE || arguments.out == WEFT_IN_PLACE);
    if (rooted_in_place) call.shape.elements = own.counts[static_cast<std::size_t>(team.rank())];
    return call;
}

namespace {

std::uint64_t element_bytes(const Request& call) {
    if (call.shape.user != nullptr) return call.shape.user->element_bytes;
    return base::size_of(call.shape.type);
}

/// The element of the vector of all blocks that this rank's block starts at.
std::uint64_t own_block(const run::Team& team, const Request& call) {
    const auto rank = static_cast<std::size_t>(team.rank());
    if (!run::traits_of(call.shape.kind).has_counts()) return rank * call.shape.elements;
    const Blocks& blocks = call.shape.in.counts.empty() ? call.shape.out : call.shape.in;
    if (!blocks.displacements.empty()) return blocks.displacements[rank];
    const auto before = blocks.counts.first(rank);
    return std::accumulate(before.begin(), before.end(), std::uint64_t{0});
}

}  // namespace

base::Result<void> settle_in_place(const run::Team& team, Request& call) {
    run::Buffers& memory = call.buffers;
    if (memory.input != WEFT_IN_PLACE && memory.output != WEFT_IN_PLACE) return {};
    const Collective collective = call.shape.kind;
    const bool gathers = collective == Collective::gather || collective == Collective::gatherv;
    if ((gathers && memory.input == WEFT_IN_PLACE) || memory.output == WEFT_IN_PLACE) {
        if (team.rank() != call.shape.root)
            return base::fail(
                Status::argument,
                // lint: allow(variable): a macro of weft.h
                "{} is WEFT_IN_PLACE on rank {}, expected memory: only the root, rank {}, "
                "has the vector",
                gathers ? "in" : "out", team.rank(), call.shape.root);
    }
    const std::uint64_t own = own_block(team, call) * element_bytes(call);
    const auto behind = [own](const void* start) {
        return start == nullptr
                   ? nullptr
                   : const_cast<std::byte*>(static_cast<const std::byte*>(start)) + own;
    };
    if (memory.output == WEFT_IN_PLACE) memory.output = behind(memory.input);
    if (memory.input != WEFT_IN_PLACE) return {};
    memory.input = memory.output;
    if (gathers || collective == Collective::allgather || collective == Collective::allgatherv)
        memory.input = behind(memory.output);
    if (collective == Collective::reduce_scatter || collective == Collective::reduce_scatterv)
        memory.output = behind(memory.output);
    return {};
}

}  // namespace weft::c_api

namespace c_api = weft::c_api;
using weft::base::Result;

namespace {

/// A blocking call. Reading the arguments comes behind finding the team, as its own refusals do.
template <class Read>
Result<void> call(weft_team* team, Read read) {
    const auto found = c_api::find_team(team);
    if (!found) return found.failure();
    Result<c_api::Request> call = c_api::read_on(*found->team, read);
    if (!call) return call.failure();
    if (const auto settled = c_api::settle_in_place(*found->team, *call); !settled)
        return settled.failure();
    return found->team->call(call->shape, call->buffers);
}

}  // namespace

extern "C" weft_status weft_barrier(weft_team* team) {
    return c_api::guarded(__func__, [&]() -> Result<void> {
        const auto found = c_api::find_team(team);
        if (!found) return found.failure();
        return found->team->call(weft::run::barrier_shape(), {});
    });
}

extern "C" weft_status weft_broadcast(weft_team* team, void* buffer, size_t count, weft_type type,
                                      int root) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] { return c_api::read_broadcast(buffer, count, type, root); });
    });
}

extern "C" weft_status weft_allreduce(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type, weft_op op) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] { return c_api::read_allreduce(in, out, count, type, op); });
    });
}

extern "C" weft_status weft_reduce(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type, weft_op op, int root) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] { return c_api::read_reduce(in, out, count, type, op, root); });
    });
}

extern "C" weft_status weft_gather(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type, int root) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] {
            return c_api::read_blocks(
                weft::Collective::gather,
                {.in = in, .out = out, .count = count, .type = type, .root = root});
        });
    });
}

extern "C" weft_status weft_scatter(weft_team* team, const void* in, void* out, size_t count,
                                    weft_type type, int root) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] {
            return c_api::read_blocks(
                weft::Collective::scatter,
                {.in = in, .out = out, .count = count, .type = type, .root = root});
        });
    });
}

extern "C" weft_status weft_allgather(weft_team* team, const void* in, void* out, size_t count,
                                      weft_type type) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] {
            return c_api::read_blocks(weft::Collective::allgather,
                                      {.in = in, .out = out, .count = count, .type = type});
        });
    });
}

extern "C" weft_status weft_alltoall(weft_team* team, const void* in, void* out, size_t count,
                                     weft_type type) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] {
            return c_api::read_blocks(weft::Collective::alltoall,
                                      {.in = in, .out = out, .count = count, .type = type});
        });
    });
}

extern "C" weft_status weft_reduce_scatter(weft_team* team, const void* in, void* out, size_t count,
                                           weft_type type, weft_op op) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] {
            return c_api::read_reduction(weft::Collective::reduce_scatter,
                                         {.in = in, .out = out, .count = count, .type = type}, op);
        });
    });
}

extern "C" weft_status weft_scan(weft_team* team, const void* in, void* out, size_t count,
                                 weft_type type, weft_op op) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] {
            return c_api::read_reduction(weft::Collective::scan,
                                         {.in = in, .out = out, .count = count, .type = type}, op);
        });
    });
}

extern "C" weft_status weft_exscan(weft_team* team, const void* in, void* out, size_t count,
                                   weft_type type, weft_op op) {
    return c_api::guarded(__func__, [&] {
        return call(team, [&] {
            return c_api::read_reduction(weft::Collective::exscan,
                                         {.in = in, .out = out, .count = count, .type = type}, op);
        });
    });
}

extern "C" weft_status weft_gatherv(weft_team* team, const void* in, size_t count, void* out,
                                    const size_t* counts, const size_t* displacements,
                                    weft_type type, int root) {
    return c_api::guarded(__func__, [&] {
        return call(team, c_api::gatherv(in, count, out, counts, displacements, type, root));
    });
}

extern "C" weft_status weft_scatterv(weft_team* team, const void* in, const size_t* counts,
                                     const size_t* displacements, void* out, size_t count,
                                     weft_type type, int root) {
    return c_api::guarded(__func__, [&] {
        return call(team, c_api::scatterv(in, counts, displacements, out, count, type, root));
    });
}

extern "C" weft_status weft_allgatherv(weft_team* team, const void* in, void* out,
                                       const size_t* counts, const size_t* displacements,
                                       weft_type type) {
    return c_api::guarded(__func__, [&] {
        return call(team, c_api::allgatherv(in, out, counts, displacements, type));
    });
}

extern "C" weft_status weft_alltoallv(weft_team* team, const void* in, const size_t* in_counts,
                                      const size_t* in_displacements, void* out,
                                      const size_t* out_counts, const size_t* out_displacements,
                                      weft_type type) {
    return c_api::guarded(__func__, [&] {
        return call(team, c_api::alltoallv(in, in_counts, in_displacements, out, out_counts,
                                           out_displacements, type));
    });
}

extern "C" weft_status weft_reduce_scatterv(weft_team* team, const void* in, void* out,
                                            const size_t* counts, weft_type type, weft_op op) {
    return c_api::guarded(
        __func__, [&] { return call(team, c_api::reduce_scatterv(in, out, counts, type, op)); });
}
