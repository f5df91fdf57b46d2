// SPDX-License-Identifier: BSD-3-Clause
// mix.hpp - a hash of words that leaves no visible pattern of its input.
#pragma once

#include <cstdint>

namespace apps {

/// Returns a bijection of words (the finisher of Steele, Lea and Flood's SplitMix).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31);
}

}  // namespace apps
