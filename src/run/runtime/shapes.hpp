// SPDX-License-Identifier: BSD-3-Clause
// shapes.hpp - shapes of calls from the arguments that users give.
#pragma once

#include "run/runtime/plans.hpp"
#include "weft/call.hpp"

namespace weft::run {

/// Of any call; a user's operation and the arrays of counts outlive it.
[[nodiscard]] inline base::Result<CallShape> shape_of(const Call& call) {
    if (static_cast<std::size_t>(call.collective) >= collectives::kCollectives.size())
        return base::fail(Status::argument, "unknown collective {}",
                          static_cast<int>(call.collective));
    const auto* const user = static_cast<const UserOperation*>(call.user.get());
    return CallShape{.kind = call.collective,
                     .type = call.type,
                     .op = call.op,
                     .root = call.root,
                     .elements = call.count,
                     .user = user,
                     .user_serial = user == nullptr ? 0 : user->serial,
                     .in = call.in_blocks,
                     .out = call.out_blocks};
}

[[nodiscard]] inline CallShape barrier_shape() {
    return {.kind = Kind::barrier};
}

[[nodiscard]] inline CallShape broadcast_shape(std::size_t count, Type type, Rank root) {
    return {.kind = Kind::broadcast, .type = type, .root = root, .elements = count};
}

[[nodiscard]] inline CallShape allreduce_shape(std::size_t count, Type type, Op op) {
    return {.kind = Kind::allreduce, .type = type, .op = op, .elements = count};
}

/// An allreduce's shape with a root.
[[nodiscard]] inline CallShape reduce_shape(CallShape allreduce, Rank root) {
    allreduce.kind = Kind::reduce;
    allreduce.root = root;
    return allreduce;
}

/// With a user's operation, which outlives the call.
[[nodiscard]] inline CallShape allreduce_shape(std::size_t count, const UserOperation* user) {
    return {.kind = Kind::allreduce,
            .type = Type::user,
            .op = Op::user,
            .elements = count,
            .user = user,
            .user_serial = user->serial};
}

}  // namespace weft::run
