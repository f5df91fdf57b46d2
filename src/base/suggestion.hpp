// SPDX-License-Identifier: BSD-3-Clause
// suggestion.hpp - the word that a mistyped one was probably meant to be.
//
// Idea     The fewest letters that were left out, put in, exchanged or swapped with the next one
//          turn one word into the other. Up to a quarter of its letters may be
//          wrong.
// Next     What refuses a name out of a list appends did_you_mean() to its message.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {

/// How many such mistakes lie between two words.
[[nodiscard]] std::size_t typing_distance(std::string_view one, std::string_view other);

/// The nearest of the known words (the first of several); empty if none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

/// "; did you mean 'ring'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> known);
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& known);

}  // namespace weft::base
