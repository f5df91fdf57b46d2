// SPDX-License-Identifier: BSD-3-Clause
// word_tag.hpp - the tag that each word of a word-tagged put carries above its four bytes of data,
// and what the header of a counted put says.
//
// Idea     28 bits of the flag's tick and the number of words, so each word tells how many there
//          must be.
// Holds    Never 0, which is what an empty landing area holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/region.hpp"

namespace weft::link {

inline constexpr std::size_t kWordData = 4;  ///< bytes of data in a word
inline constexpr std::size_t kFlagWords = sizeof(base::FlagWord) / kWordData;
static_assert(base::Landing::kWords < 16);

[[nodiscard]] constexpr std::uint32_t word_tag(base::FlagWord flag, std::size_t words) {
    return static_cast<std::uint32_t>(base::tick_of(flag) << 4) | static_cast<std::uint32_t>(words);
}
[[nodiscard]] constexpr std::size_t words_of_tag(std::uint32_t tag) {
    return tag & 15U;
}
[[nodiscard]] constexpr std::uint64_t tagged_word(std::uint32_t data, std::uint32_t tag) {
    return std::uint64_t{tag} << 32 | data;
}
[[nodiscard]] constexpr std::uint32_t tag_of_word(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
}

/// Which counter counts the put, and how many writes it counts with the last one of it.
[[nodiscard]] constexpr std::uint64_t counted_header(std::uint64_t origin, std::uint64_t counter,
                                                     std::uint32_t writes) {
    return origin << 40 | counter << 32 | writes;
}
[[nodiscard]] constexpr std::size_t origin_of_header(std::uint64_t header) {
    return header >> 40;
}
[[nodiscard]] constexpr std::uint32_t counter_of_header(std::uint64_t header) {
    return (header >> 32) & 0xFFU;
}

}  // namespace weft::link
