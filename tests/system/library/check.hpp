// SPDX-License-Identifier: BSD-3-Clause
// check.hpp - checks for C++ programs of ranks: conditions, and calls that must be refused.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "weft/weft.hpp"

namespace weft::test {

inline int wrong = 0;  ///< failed checks

/// Counts and prints a condition that is false. `what` names the condition.
inline void check(bool condition, std::string_view what) {
    if (condition) return;
    ++wrong;
    fmt::print(stderr, "failed check: {}\n", what);
}

/// Checks that a call throws an Error with this status and a message that contains the word.
template <class Call>
void refused(std::string_view what, Status status, std::string_view word, Call call) {
    try {
        call();
        check(false, fmt::format("{} was not refused", what));
    } catch (const Error& error) {
        check(error.status() == status &&
                  std::string_view(error.what()).find(word) != std::string_view::npos,
              fmt::format("{}: status {}, \"{}\" must contain \"{}\"", what,
                          static_cast<int>(error.status()), error.what(), word));
    }
}

}  // namespace weft::test
