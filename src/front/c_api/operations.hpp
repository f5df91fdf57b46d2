// SPDX-License-Identifier: BSD-3-Clause
// operations.hpp - types and operations of the C interface, the user's included.
//
// Idea     weft_op is a number, and weft_op_create() has no runtime: so what the numbers of users'
//          operations mean is kept once for the process, under a lock that only these cost.
// Holds    A number has an entry and a count of its uses, so one that has been freed is refused.
//          Plans hold what they use.
#pragma once

#include "base/result.hpp"
#include "run/runtime/call.hpp"
#include "weft/weft.h"

namespace weft::c_api {

[[nodiscard]] base::Result<Type> type_of(weft_type type);

/// Gives the call its operation; its type is known.
[[nodiscard]] base::Result<void> set_operation(Call& call, weft_op op);

}  // namespace weft::c_api
