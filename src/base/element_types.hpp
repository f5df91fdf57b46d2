// SPDX-License-Identifier: BSD-3-Clause
// element_types.hpp - element types and operations by the names that people write.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"

namespace weft::base {

/// "int8" .. "uint64", "float", "double", "longdouble", "cfloat", ..., "float_int", ..., "user".
[[nodiscard]] std::string_view name_of(Type type);
/// "sum", "prod", ..., "user".
[[nodiscard]] std::string_view name_of(Op op);

/// All names that parse_type() and parse_op() know.
[[nodiscard]] std::span<const std::string_view> type_names();
[[nodiscard]] std::span<const std::string_view> op_names();

/// Built-in ones only; a failure lists them.
[[nodiscard]] Result<Type> parse_type(std::string_view name);
[[nodiscard]] Result<Op> parse_op(std::string_view name);

/// Bytes of an element of a built-in type; 0 for Type::user.
[[nodiscard]] std::size_t size_of(Type type);

}  // namespace weft::base
