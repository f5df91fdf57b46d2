// SPDX-License-Identifier: BSD-3-Clause
// mix.hpp - a hash of words; similar words have unrelated hashes.
#pragma once

#include <cstdint>

namespace apps {

/// Returns the hash of a word; different words have different hashes. This is the finisher of
/// Steele, Lea and Flood's SplitMix.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31);
}

}  // namespace apps
