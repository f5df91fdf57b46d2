// SPDX-License-Identifier: BSD-3-Clause
// area.hpp - layout of the memory in each segment for one-sided requests and active messages.
//
// Idea     For each pair of ranks, the target's segment has a ring of cells for the origin's
//          requests, and the origin's segment an equal ring for the replies, with the same slot
//          numbers. Another ring is for messages; its two credit cells are at the origin.
// Holds    Offsets depend only on the job size. Pairs that do not communicate touch no pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Words of 8 bytes in the segment that immediates name by number: first `few_count` words from
/// offset `few`, then the words of the heap.
struct SignalWords {
    std::uint64_t few = 0;        ///< offset of the first words
    std::uint64_t few_count = 0;  ///< number of the first words
    std::uint64_t heap = 0;       ///< offset of the heap

    /// Returns the number of the word at an offset; nothing if the word has no number.
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

/// Rings of requests and replies, and a buffer for data that requests transfer.
struct OneSidedArea {
    static constexpr std::uint64_t kSlotsMax = 32;    ///< see slots()
    static constexpr Rank kRanksWithLongRings = 512;  ///< larger jobs have fewer slots
    static constexpr std::uint64_t kBufferBytes = std::uint64_t{64} << 10;  ///< see registered.hpp

    std::uint64_t offset = 0;  ///< offset in every segment; a multiple of kCellStride
    Rank ranks = 0;            ///< ranks of the job
    SignalWords words;
    std::uint64_t before_first = 0;  ///< first request's number minus 1; not 0 only in tests

    /// Returns the number of requests that one rank may have in flight to another.
    [[nodiscard]] constexpr std::uint64_t slots() const {
        return ranks <= kRanksWithLongRings ? kSlotsMax : kSlotsMax / 4;
    }
    /// Returns the offset of an origin's request number `sequence` in the target's segment.
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
    std::uint32_t bytes = 0;    ///< size without the header
};

/// Function that handles messages. peer: the sender. data: valid until the function returns.
struct MessageHandler {
    void (*function)(void* argument, Rank peer, const std::byte* data, std::size_t bytes) = nullptr;
    void* argument = nullptr;
};

/// Rings of messages and credits. Messages longer than a cell use a slot. Two credit cells suffice:
/// the target sends credit k + 2 after messages that the origin sends only after reading credit k.
struct MessageArea {
    /// Number of messages that one rank may have in flight to another.
    static constexpr std::uint64_t kSlots = 8;
    static constexpr std::uint64_t kStep = kSlots / 2;  ///< messages per credit
    static constexpr std::uint64_t kCredits = 2;  ///< cells for the credits of a pair of ranks
    static constexpr Rank kRanksWithLongMessages = 1024;  ///< larger jobs have shorter messages

    std::uint64_t offset = 0;  ///< offset in every segment; a multiple of a cell's size
    Rank ranks = 0;            ///< ranks of the job

    /// Returns the largest size of a message without its header, in bytes.
    [[nodiscard]] constexpr std::uint64_t bytes_max() const {
        return ranks <= kRanksWithLongMessages ? 2048 : 256;
    }
    /// Returns the offset in the target's segment of the cell of an origin's message.
    [[nodiscard]] constexpr std::uint64_t cell(Rank origin, std::uint64_t number) const {
        return offset + slot(origin, number) * base::kCellStride;
    }
    /// Returns the offset of the message's slot, for bytes that do not fit into the cell.
    [[nodiscard]] constexpr std::uint64_t bytes_of(Rank origin, std::uint64_t number) const {
        return offset + cells() * base::kCellStride + slot(origin, number) * slot_bytes();
    }
    /// Returns the offset in the origin's segment of a target's credit.
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
