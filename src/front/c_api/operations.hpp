// SPDX-License-Identifier: BSD-3-Clause
// operations.hpp - types and operations of the C interface, the user's included.
//
// Idea     weft_op is a number, and weft_op_create() has no runtime: so what the numbers of users'
//          operations mean is kept once for the process, behind a lock that only they pay.
// Holds    A number has an entry and a count of its uses, so one that has been freed is refused. Calls
//          in flight hold what they use.
#pragma once

#include <array>
#include <memory>

#include "base/result.hpp"
#include "run/runtime/shapes.hpp"
#include "weft/weft.h"

namespace weft::c_api {

/// A user's operation as the engine knows it, for elements of each built-in type.
using Operations = std::array<run::UserOperation, kBuiltinTypes>;
using HeldOperations = std::shared_ptr<const Operations>;

[[nodiscard]] base::Result<Type> type_of(weft_type type);

/// The shape of an allreduce; `held` keeps the user's operation if it is one.
[[nodiscard]] base::Result<run::CallShape> reduction_shape(std::size_t count, weft_type type,
                                                           weft_op op, HeldOperations& held);

}  // namespace weft::c_api
