// SPDX-License-Identifier: BSD-3-Clause
// suggestion.hpp - finds the known word that a user probably meant by a mistyped word.
//
// Idea     Words are compared by edit distance. A word may have one mistake for each four letters,
//          and at least one. A known word is no suggestion if all its letters would be mistakes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {

/// Returns the optimal string alignment distance: the smallest number of letters to omit, add,
/// replace, or swap with the next letter.
[[nodiscard]] std::size_t edit_distance(std::string_view one, std::string_view other);

/// Returns the first of the known words with the least distance from `word`, or an empty text if
/// `word` has too many mistakes.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// Return a text such as "; did you mean 'ring'?", or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& known);

}  // namespace weft::base
