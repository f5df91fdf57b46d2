// SPDX-License-Identifier: BSD-3-Clause
// element_types.hpp - names of element types and operations.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"

namespace weft::base {

/// Returns the name of a type, such as "int8", "double", "cfloat", "float_int" or "user".
[[nodiscard]] std::string_view name_of(Type type);
/// Returns the name of an operation, such as "sum", "prod" or "user".
[[nodiscard]] std::string_view name_of(Op op);

/// Return all names that parse_type() and parse_op() accept.
[[nodiscard]] std::span<const std::string_view> type_names();
[[nodiscard]] std::span<const std::string_view> op_names();

/// Parse names of built-in types and operations. A failure lists these names.
Result<Type> parse_type(std::string_view name);
Result<Op> parse_op(std::string_view name);

/// Returns the size of an element in bytes; 0 for Type::user.
[[nodiscard]] std::size_t size_of(Type type);

}  // namespace weft::base
