// SPDX-License-Identifier: BSD-3-Clause
// suggestion.hpp - finds the known word that a user probably meant by a mistyped word.
//
// Idea     Words are compared by edit distance. A word may have one mistake for each four letters,
//          and at least one. A known word is no suggestion if all its letters would be mistakes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {

/// Returns the nearest known word, or an empty text if `word` has too many mistakes.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// Return a text such as "; did you mean 'ring'?", or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& known);

}  // namespace weft::base
