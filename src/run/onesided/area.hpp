// SPDX-License-Identifier: BSD-3-Clause
// area.hpp - memory of every rank for one-sided calls and active messages.
//
// Idea     For each pair of ranks, a ring of cells in the target's segment receives the origin's
//          requests, and an equally long ring in the origin's segment the replies, so both have
//          one slot. Another ring receives messages; two cells at the origin receive its credits.
// Holds    Offsets depend on the size of the job alone. Pages of pairs that do not communicate
//          are not touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Words that an immediate can name by number: a few words first, then all words from `heap` on.
struct SignalWords {
    std::uint64_t few = 0;  ///< offset of the first words
    std::uint64_t few_count = 0;
    std::uint64_t heap = 0;

    /// Returns the number of a word, or nothing if immediates cannot name it.
    [[nodiscard]] constexpr std::optional<std::uint64_t> number_of(std::uint64_t offset) const {
        if (offset >= heap) return few_count + (offset - heap) / sizeof(std::uint64_t);
        const std::uint64_t number = (offset - few) / sizeof(std::uint64_t);
        return offset >= few && number < few_count ? std::optional(number) : std::nullopt;
    }
    [[nodiscard]] constexpr std::uint64_t offset_of(std::uint64_t number) const {
        return number < few_count ? few + number * sizeof(std::uint64_t)
                                  : heap + (number - few_count) * sizeof(std::uint64_t);
    }
};

struct OneSidedArea {
    static constexpr std::uint64_t kSlotsMax = 32;
    static constexpr Rank kRanksWithLongRings = 512;
    static constexpr std::uint64_t kBufferBytes = std::uint64_t{64} << 10;

    std::uint64_t offset = 0;  ///< in every segment; aligned like a cell stride
    Rank ranks = 0;            ///< ranks of the job
    SignalWords words;
    std::uint64_t before_first = 0;  ///< number of the request before the first, for tests of wraps

    /// Returns the most requests of one rank to another at a time.
    [[nodiscard]] constexpr std::uint64_t slots() const {
        return ranks <= kRanksWithLongRings ? kSlotsMax : kSlotsMax / 4;
    }
    /// Returns the offset of an origin's request number `sequence` in the target's segment.
    [[nodiscard]] constexpr std::uint64_t request(Rank origin, std::uint64_t sequence) const {
        return offset + slot(origin, sequence) * base::kCellStride;
    }
    /// Returns the offset of the target's reply to it in the origin's segment.
    [[nodiscard]] constexpr std::uint64_t reply(Rank target, std::uint64_t sequence) const {
        return offset + (ring_cells() + slot(target, sequence)) * base::kCellStride;
    }
    [[nodiscard]] constexpr std::uint64_t buffer() const {
        return offset + 2 * ring_cells() * base::kCellStride;
    }
    [[nodiscard]] constexpr std::uint64_t bytes() const {
        return 2 * ring_cells() * base::kCellStride + kBufferBytes;
    }

  private:
    [[nodiscard]] constexpr std::uint64_t ring_cells() const {
        return static_cast<std::uint64_t>(ranks) * slots();
    }
    [[nodiscard]] constexpr std::uint64_t slot(Rank rank, std::uint64_t sequence) const {
        return static_cast<std::uint64_t>(rank) * slots() + sequence % slots();
    }
};

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

/// Messages longer than a cell have a slot next to their ring. Credit k + 2 overwrites credit k
/// only after the origin has taken credit k: the messages that earn it cannot be sent before.
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
