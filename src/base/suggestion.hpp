// SPDX-License-Identifier: BSD-3-Clause
// suggestion.hpp - finds the known word that a user probably meant by a mistyped word.
//
// Idea     The distance of two words is the least number of typing mistakes between them: a letter
//          that is omitted, added, replaced, or swapped with the next letter. A word may have one
//          mistake for each four letters, and at least one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {

/// Returns the distance of two words.
[[nodiscard]] std::size_t typing_distance(std::string_view one, std::string_view other);

/// Returns the known word with the least distance from `word`, the first if several have it.
/// Returns an empty text if `word` has too many mistakes for each known word.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// Return a text such as "; did you mean 'ring'?", or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& known);

}  // namespace weft::base
