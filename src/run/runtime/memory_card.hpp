// SPDX-License-Identifier: BSD-3-Clause
// memory_card.hpp - what a member of a team says about the memory that it registers.
//
// Holds    What check() lets pass can be used: no sum of its numbers wraps, memory in the member's
//          segment lies in its heap, and a region holds all of the memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "run/onesided/place.hpp"
#include "run/runtime/layout.hpp"

namespace weft::run {

/// Why a member cannot register its memory.
enum class MemoryFault : std::uint64_t { none, null, too_long, unmapped, ours, no_number };

[[nodiscard]] std::string text_of(MemoryFault fault);

/// Travels as words.
struct MemoryCard {
    /// Memory that is registered is shorter.
    static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << Place::kOffsetBits;

    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    MemoryFault fault = MemoryFault::none;
    std::uint64_t number = 0;
    std::uint64_t segment_end = 0;  ///< if not 0: where it ends in the member's segment
    std::uint64_t region_base = 0, region_bytes = 0, region_key = 0;
};

/// Fails with what the member says is wrong, or with what is wrong about the card itself.
/// layout: of the segments, the same on all ranks.
[[nodiscard]] base::Result<void> check(const MemoryCard& card, Rank member,
                                       const SegmentLayout& layout);

}  // namespace weft::run
