// SPDX-License-Identifier: BSD-3-Clause
#include "front/c_api/calls.hpp"

#include <utility>

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

}  // namespace weft::c_api

namespace c_api = weft::c_api;
using weft::base::Result;

namespace {

/// A blocking call. Reading the arguments comes behind finding the team, as its own refusals do.
template <class Read>
Result<void> call(weft_team* team, Read read) {
    const auto found = c_api::find_team(team);
    if (!found) return found.failure();
    const Result<c_api::Request> call = read();
    if (!call) return call.failure();
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
