// SPDX-License-Identifier: BSD-3-Clause
// encoding.hpp - forms of puts on the network: immediates, tagged words, headers of counted puts.
//
// Idea     The low two bits of an immediate are its kind. The bits above are the index of a cell's
//          line, or origin and batch of a write without a cell. A tagged word has four bytes of
//          data in its low half and a tag in its high half. The tag has 28 bits of the flag's tick
//          and the number of words, so the target can read this number from any word of a put.
// Holds    A tag is never 0, which is the value of an empty landing area.
// Next     remote_puts.hpp for the origin, arrivals.hpp for the target.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/region.hpp"

namespace weft::link {

/// Kind of an immediate: the delivery that it reports.
enum class Arrival : std::uint32_t {
    whole = 0,   ///< a whole put: flag word and payload
    piece = 1,   ///< a piece of the payload
    header = 2,  ///< the flag word and the number of pieces
    write = 3,   ///< a write without a cell
};
inline constexpr unsigned kArrivalBits = 2;

/// Returns the immediate for the cell at an offset of the segment.

[[nodiscard]] constexpr std::uint32_t immediate_for(std::uint64_t cell, Arrival arrival) {
    return static_cast<std::uint32_t>(cell / sizeof(base::Cell)) << kArrivalBits |
           static_cast<std::uint32_t>(arrival);
}
[[nodiscard]] constexpr Arrival arrival_of(std::uint64_t immediate) {
    return static_cast<Arrival>(immediate & 3U);
}

inline constexpr std::size_t kWordData = 4;  ///< bytes of data in a word
inline constexpr std::size_t kFlagWords = sizeof(base::FlagWord) / kWordData;
static_assert(base::Landing::kWords < 16);  // the number of words has 4 bits of a tag

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

/// Returns the header of a counted put: the origin, the number of its counter at the target, and
/// the counter's value after the put's last write.
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
