// SPDX-License-Identifier: BSD-3-Clause
// failure.hpp - failures that end a command of `weft`.
//
// Idea     A failure is thrown as an Error, which run_command() prints. Functions whose callers
//          continue after a failure return a base::Result.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.hpp"
#include "weft/error.hpp"

namespace weft::tools {

/// Ends the command by throwing an Error.
[[noreturn]] inline void fail(const base::Failure& failure) {
    throw Error(failure.status, failure.text);
}
template <class... Arguments>
[[noreturn]] void fail(Status status, fmt::format_string<Arguments...> text,
                       Arguments&&... arguments) {
    fail(base::fail(status, text, std::forward<Arguments>(arguments)...));
}
/// Ends the command because of an unusable argument.
template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    fail(base::fail(Status::argument, text, std::forward<Arguments>(arguments)...));
}
/// Returns the value of a result. A failure ends the command, with "context: " before its text.
template <class T>
T need(base::Result<T> result, std::string_view context = {}) {
    if (!result) fail(context.empty() ? result.failure() : result.failure().within(context));
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace weft::tools
