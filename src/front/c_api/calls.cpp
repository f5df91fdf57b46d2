// SPDX-License-Identifier: BSD-3-Clause
#include "front/c_api/calls.hpp"

#include <utility>

#include "base/element_types.hpp"

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

std::uint64_t element_bytes(const Request& call) {
    if (call.shape.user != nullptr) return call.shape.user->element_bytes;
    return base::size_of(call.shape.type);
}

}  // namespace

base::Result<void> settle_in_place(const run::Team& team, Request& call) {
    run::Buffers& memory = call.buffers;
    const Collective collective = call.shape.kind;
    if ((collective == Collective::gather && memory.input == WEFT_IN_PLACE) ||
        memory.output == WEFT_IN_PLACE) {
        if (team.rank() != call.shape.root)
            return base::fail(
                Status::argument,
                // lint: allow(variable): a macro of weft.h
                "{} is WEFT_IN_PLACE on rank {}, expected memory: only the root, rank {}, "
                "has the vector",
                collective == Collective::gather ? "in" : "out", team.rank(), call.shape.root);
    }
    const std::uint64_t block = call.shape.elements * element_bytes(call);
    const std::uint64_t own = static_cast<std::uint64_t>(team.rank()) * block;
    const auto behind = [own](const void* start) {
        return start == nullptr
                   ? nullptr
                   : const_cast<std::byte*>(static_cast<const std::byte*>(start)) + own;
    };
    if (memory.output == WEFT_IN_PLACE) memory.output = behind(memory.input);
    if (memory.input != WEFT_IN_PLACE) return {};
    memory.input = memory.output;
    if (collective == Collective::gather || collective == Collective::allgather)
        memory.input = behind(memory.output);
    if (collective == Collective::reduce_scatter) memory.output = behind(memory.output);
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
    Result<c_api::Request> call = read();
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
