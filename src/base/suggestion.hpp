// SPDX-License-Identifier: BSD-3-Clause
// suggestion.hpp - finds the word that was probably meant by a mistyped one.
//
// Idea     The distance of two words is the least number of letters to omit, insert, replace or
//          swap with the next one. Up to a quarter of a word's letters may be wrong.
// Next     Functions that reject a name from a list append did_you_mean() to their message.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {

/// Returns the number of such mistakes between two words.
[[nodiscard]] std::size_t typing_distance(std::string_view one, std::string_view other);

/// Returns the nearest known word (the first of several), or an empty text.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// Returns "; did you mean 'ring'?", or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& known);

}  // namespace weft::base
