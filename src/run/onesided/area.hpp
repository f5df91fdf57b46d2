// SPDX-License-Identifier: BSD-3-Clause
// area.hpp - layout of the memory in each segment for one-sided requests and active messages.
//
// Idea     For each pair of origin and target, the target's segment has a ring of cells for
//          requests, and the origin's segment an equal ring for the replies. For messages, the
//          target's segment has another ring, and the origin's segment two cells for credits.
// Holds    Offsets depend only on the job size. Pairs that do not communicate touch no pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Words of 8 bytes in the segment that immediates name by number. The first numbers are for
/// the words about teams (run/job/layout.hpp), all others for the words of the heap.
struct SignalWords {
    std::uint64_t team_words = 0;       ///< offset of the words about teams
    std::uint64_t team_word_count = 0;  ///< number of these words
    std::uint64_t heap = 0;             ///< offset of the heap

    /// Returns the number of the word at an offset; nothing if the word has no number.
    [[nodiscard]] constexpr std::optional<std::uint64_t> number_of(std::uint64_t offset) const {
        if (offset >= heap) return team_word_count + (offset - heap) / sizeof(std::uint64_t);
        const std::uint64_t number = (offset - team_words) / sizeof(std::uint64_t);
        return offset >= team_words && number < team_word_count ? std::optional(number)
                                                                : std::nullopt;
    }
    [[nodiscard]] constexpr std::uint64_t offset_of(std::uint64_t number) const {
        return number < team_word_count ? team_words + number * sizeof(std::uint64_t)
                                        : heap + (number - team_word_count) * sizeof(std::uint64_t);
    }
};

/// Rings of requests and replies, and a buffer for data that requests transfer.
struct OneSidedArea {
    static constexpr std::uint64_t kSlotsMax = 32;
    static constexpr Rank kRanksWithLongRings = 512;  ///< larger jobs have fewer slots
    static constexpr std::uint64_t kBufferBytes = std::uint64_t{64} << 10;

    std::uint64_t offset = 0;  ///< start in every segment; a multiple of kCellStride
    Rank ranks = 0;            ///< number of ranks of the job
    SignalWords words;
    std::uint64_t before_first = 0;  ///< number before the first request's; not 0 only in tests

    /// Returns the number of requests that one rank may have in flight to another.
    [[nodiscard]] constexpr std::uint64_t slots() const {
        return ranks <= kRanksWithLongRings ? kSlotsMax : kSlotsMax / 4;
    }
    /// Returns the offset in the target's segment of the origin's request `sequence`.
    [[nodiscard]] constexpr std::uint64_t request(Rank origin, std::uint64_t sequence) const {
        return offset + slot(origin, sequence) * base::kCellStride;
    }
    /// Returns the offset in the origin's segment of the target's reply to request `sequence`.
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

/// Header of a message, before its bytes.
struct MessageHead {
    std::uint32_t handler = 0;  ///< number of the handler
    std::uint32_t bytes = 0;    ///< number of bytes that follow the header
};

/// Function that handles messages of `peer`. `data` is valid until the function returns.
struct MessageHandler {
    void (*function)(void* argument, Rank peer, const std::byte* data, std::size_t bytes) = nullptr;
    void* argument = nullptr;
};

/// Rings of messages and credits. A message that does not fit into its cell is in a slot. Two cells
/// for credits suffice: the target sends credit k + 2 after it has received messages that the
/// origin sends only after it has read credit k.
struct MessageArea {
    /// Number of messages that one rank may have in flight to another.
    static constexpr std::uint64_t kSlots = 8;
    static constexpr std::uint64_t kMessagesPerCredit = kSlots / 2;
    static constexpr std::uint64_t kCreditCells = 2;      ///< for each pair of ranks
    static constexpr Rank kRanksWithLongMessages = 1024;  ///< larger jobs have shorter messages

    std::uint64_t offset = 0;  ///< start in every segment; a multiple of kCellStride
    Rank ranks = 0;            ///< number of ranks of the job

    /// Returns the largest number of bytes of a message, without its header.
    [[nodiscard]] constexpr std::uint64_t bytes_max() const {
        return ranks <= kRanksWithLongMessages ? 2048 : 256;
    }
    /// Returns the offset in the target's segment of the cell of the origin's message `number`.
    [[nodiscard]] constexpr std::uint64_t cell(Rank origin, std::uint64_t number) const {
        return offset + slot_index(origin, number) * base::kCellStride;
    }
    /// Returns the offset in the target's segment of the message's slot.
    [[nodiscard]] constexpr std::uint64_t slot(Rank origin, std::uint64_t number) const {
        return offset + cells() * base::kCellStride + slot_index(origin, number) * slot_bytes();
    }
    /// Returns the offset in the origin's segment of the target's credit `number`.
    [[nodiscard]] constexpr std::uint64_t credit(Rank target, std::uint64_t number) const {
        const std::uint64_t first = slots() + static_cast<std::uint64_t>(target) * kCreditCells;
        return offset + (first + number % kCreditCells) * base::kCellStride;
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
        return slots() + static_cast<std::uint64_t>(ranks) * kCreditCells;
    }
    [[nodiscard]] static constexpr std::uint64_t slot_index(Rank rank, std::uint64_t number) {
        return static_cast<std::uint64_t>(rank) * kSlots + number % kSlots;
    }
};

}  // namespace weft::run
