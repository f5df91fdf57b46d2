// SPDX-License-Identifier: BSD-3-Clause
// shapes.hpp - shapes of calls from the arguments that users give.
#pragma once

#include "run/runtime/plans.hpp"

namespace weft::run {

[[nodiscard]] inline CallShape barrier_shape() {
    return {.kind = Kind::barrier};
}

[[nodiscard]] inline CallShape broadcast_shape(std::size_t count, Type type, Rank root) {
    return {.kind = Kind::broadcast, .type = type, .root = root, .elements = count};
}

[[nodiscard]] inline CallShape allreduce_shape(std::size_t count, Type type, Op op) {
    return {.kind = Kind::allreduce, .type = type, .op = op, .elements = count};
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
