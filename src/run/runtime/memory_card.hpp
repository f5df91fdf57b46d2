// SPDX-License-Identifier: BSD-3-Clause
// memory_card.hpp - a team member's description of memory that it registers.
//
// Holds    A card that check() accepts can be used: sums do not wrap, memory in the member's
//          segment is in its heap, and a region contains all of the memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "run/job/layout.hpp"
#include "run/onesided/place.hpp"

namespace weft::run {

/// Reason why a member cannot register its memory.
enum class MemoryFault : std::uint64_t { none, null, too_long, unmapped, ours, no_number };

[[nodiscard]] std::string text_of(MemoryFault fault);

/// Sent as words.
struct MemoryCard {
    /// Registered memory is shorter.
    static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << Place::kOffsetBits;

    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    MemoryFault fault = MemoryFault::none;
    std::uint64_t number = 0;
    std::uint64_t segment_end = 0;  ///< end in the member's segment; 0: memory outside
    std::uint64_t region_base = 0, region_bytes = 0, region_key = 0;
};

/// Fails if the member reports a fault, or if the card is invalid. `layout` is equal on all ranks.
[[nodiscard]] base::Result<void> check(const MemoryCard& card, Rank member,
                                       const SegmentLayout& layout);

}  // namespace weft::run
