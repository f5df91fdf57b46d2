// SPDX-License-Identifier: BSD-3-Clause
// operations.hpp - types and operations of the C interface, including user operations.
//
// Idea     weft_op is a number, and weft_op_create() takes no runtime. So user operations are in
//          one table of the process; only these pay for its lock.
// Holds    A number has an entry and a use count, so a freed operation is refused. Plans keep the
//          operations that they use.
#pragma once

#include "base/result.hpp"
#include "run/team/call.hpp"
#include "weft/weft.h"

namespace weft::c_api {

[[nodiscard]] base::Result<Type> type_of(weft_type type);

/// Sets the operation of a call whose type is set.
[[nodiscard]] base::Result<void> set_operation(Call& call, weft_op op);

}  // namespace weft::c_api
