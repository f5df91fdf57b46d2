// SPDX-License-Identifier: BSD-3-Clause
// message_area.hpp - what every rank sets aside for active messages: rings of cells, bytes of
// messages, cells for credits.
//
// Idea     For each pair of ranks a ring of cells in the target's segment takes the origin's
//          messages; longer ones have their bytes in a slot beside it. Two cells in the origin's
//          segment take the target's credits, in turn.
// Holds    Offsets follow from the size of the job alone. Pages that no pair uses are not touched.
//          Credit k + 2 falls on the cell of credit k only when the origin has taken that: the
//          messages that earn it could not be sent before.
// Next     messages.hpp for who writes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// What stands before the bytes of a message.
struct MessageHead {
    std::uint32_t handler = 0;
    std::uint32_t bytes = 0;
};

/// What is called with a message of `peer`, a rank of the job. The bytes are the callee's until it
/// returns.
struct MessageHandler {
    void (*function)(void* argument, Rank peer, const std::byte* data, std::size_t bytes) = nullptr;
    void* argument = nullptr;
};

struct MessageArea {
    static constexpr std::uint64_t kSlots = 8;            ///< messages of one rank to another
    static constexpr std::uint64_t kStep = kSlots / 2;    ///< messages that earn a credit
    static constexpr std::uint64_t kCredits = 2;          ///< cells for them
    static constexpr Rank kRanksWithLongMessages = 1024;  ///< larger jobs have shorter ones

    std::uint64_t offset = 0;  ///< in every segment; a multiple of a cell
    Rank ranks = 0;            ///< of the job

    /// Bytes of a message without its head.
    [[nodiscard]] constexpr std::uint64_t bytes_max() const {
        return ranks <= kRanksWithLongMessages ? 2048 : 256;
    }
    /// Where an origin's message goes, in the target's segment: its cell, and its bytes if they do
    /// not fit there.
    [[nodiscard]] constexpr std::uint64_t cell(Rank origin, std::uint64_t number) const {
        return offset + slot(origin, number) * base::kCellStride;
    }
    [[nodiscard]] constexpr std::uint64_t bytes_of(Rank origin, std::uint64_t number) const {
        return offset + cells() * base::kCellStride + slot(origin, number) * slot_bytes();
    }
    /// Where the target's credit goes, in the origin's segment.
    [[nodiscard]] constexpr std::uint64_t credit(Rank target, std::uint64_t number) const {
        const std::uint64_t of_target = static_cast<std::uint64_t>(target) * kCredits;
        return offset + (slots() + of_target + number % kCredits) * base::kCellStride;
    }
    [[nodiscard]] constexpr std::uint64_t bytes() const {
        return cells() * base::kCellStride + slots() * slot_bytes();
    }

  private:
    [[nodiscard]] constexpr std::uint64_t slot_bytes() const {
        return bytes_max() + sizeof(base::Cell);
    }
    [[nodiscard]] constexpr std::uint64_t slots() const {
        return static_cast<std::uint64_t>(ranks) * kSlots;
    }
    [[nodiscard]] constexpr std::uint64_t cells() const {
        return slots() + static_cast<std::uint64_t>(ranks) * kCredits;
    }
    [[nodiscard]] static constexpr std::uint64_t slot(Rank rank, std::uint64_t number) {
        return static_cast<std::uint64_t>(rank) * kSlots + number % kSlots;
    }
};

}  // namespace weft::run
