// SPDX-License-Identifier: BSD-3-Clause
// cursor.hpp - reads a spec character by character and reports the position of an error.
//
// Holds    Positions are 1-based and count from the start of the whole text, nested parts included.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/units.hpp"

namespace weft::collectives {

using base::is_digit;

template <class... Arguments>
[[nodiscard]] base::Failure fail_at(std::size_t position, fmt::format_string<Arguments...> format,
                                    Arguments&&... arguments) {
    return {Status::argument,
            fmt::format("character {}: {}", position,
                        fmt::format(format, std::forward<Arguments>(arguments)...))};
}

class Cursor {
  public:
    explicit Cursor(std::string_view text) : text_(text) {}

    [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
    /// Returns the character `ahead` places further on, or 0 past the end.
    [[nodiscard]] char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    bool accept(char wanted) {
        if (at_end() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }
    /// Takes characters while `belongs` returns true.
    template <class Predicate>
    std::string_view take_while(Predicate belongs) {
        const std::size_t first = at_;
        while (!at_end() && belongs(text_[at_])) ++at_;
        return text_.substr(first, at_ - first);
    }
    [[nodiscard]] std::size_t position() const { return at_ + 1; }
    /// Returns the character at the cursor, for messages.
    [[nodiscard]] std::string found() const {
        return at_end() ? std::string("the end") : fmt::format("'{}'", text_[at_]);
    }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
};

[[nodiscard]] constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace weft::collectives
