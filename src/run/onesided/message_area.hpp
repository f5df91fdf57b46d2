// SPDX-License-Identifier: BSD-3-Clause
// message_area.hpp - memory of every rank for active messages: rings of cells, bytes of messages,
// and cells for credits.
//
// Idea     For each pair of ranks, a ring of cells in the target's segment receives the origin's
//          messages. The bytes of a longer message are in a slot next to the ring. Two cells in the
//          origin's segment receive the target's credits alternately.
// Holds    Offsets depend on the size of the job alone. Pages of pairs that do not communicate are
//          not touched. Credit k + 2 overwrites credit k only after the origin has taken credit k.
//          The messages that earn credit k + 2 cannot be sent before.
// Next     messages.hpp for the writers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Precedes the bytes of a message.
struct MessageHead {
    std::uint32_t handler = 0;
    std::uint32_t bytes = 0;
};

/// Function for messages, called with the sending peer, a rank of the job. The callee may use the
/// bytes until it returns.
struct MessageHandler {
    void (*function)(void* argument, Rank peer, const std::byte* data, std::size_t bytes) = nullptr;
    void* argument = nullptr;
};

struct MessageArea {
    /// Messages in flight from one rank to another.
    static constexpr std::uint64_t kSlots = 8;
    static constexpr std::uint64_t kStep = kSlots / 2;    ///< messages per credit
    static constexpr std::uint64_t kCredits = 2;          ///< cells for credits
    static constexpr Rank kRanksWithLongMessages = 1024;  ///< larger jobs have shorter messages

    std::uint64_t offset = 0;  ///< offset in every segment; a multiple of a cell
    Rank ranks = 0;            ///< ranks of the job

    /// Returns the largest size of a message without its head, in bytes.
    [[nodiscard]] constexpr std::uint64_t bytes_max() const {
        return ranks <= kRanksWithLongMessages ? 2048 : 256;
    }
    /// Returns the offset of an origin's message in the target's segment: of its cell, and of its
    /// bytes if they do not fit there.
    [[nodiscard]] constexpr std::uint64_t cell(Rank origin, std::uint64_t number) const {
        return offset + slot(origin, number) * base::kCellStride;
    }
    [[nodiscard]] constexpr std::uint64_t bytes_of(Rank origin, std::uint64_t number) const {
        return offset + cells() * base::kCellStride + slot(origin, number) * slot_bytes();
    }
    /// Returns the offset of the target's credit in the origin's segment.
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
