// SPDX-License-Identifier: BSD-3-Clause
// area.hpp - memory of every rank for one-sided calls: cells for requests and replies.
//
// Idea     For each pair of ranks, a ring of cells in the target's segment receives the origin's
//          requests. A ring in the origin's segment receives the replies. Both rings have the same
//          length, so a request and its reply have the same slot. A buffer for bytes of gets by
//          request follows. Larger jobs have shorter rings.
// Why      Requests and replies are puts into cells, so every notify strategy carries them.
// Holds    Offsets depend on the size of the job alone. Pages of pairs that do not communicate
//          are not touched.
// Next     request.hpp for the contents of a cell.
#pragma once

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

}  // namespace weft::run
