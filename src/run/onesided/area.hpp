// SPDX-License-Identifier: BSD-3-Clause
// area.hpp - what every rank sets aside for one-sided calls: cells for requests, cells for replies.
//
// Idea     For each pair of ranks a ring of cells in the target's segment takes the origin's
//          requests, and one in the origin's segment the replies. Both rings are as long, so a
//          request and its reply have the same slot. After them lies a buffer for bytes that are
//          got by request. Rings are shorter where there are many ranks.
// Why      Requests and replies are puts into cells, so every notify strategy carries them.
// Holds    Offsets follow from the size of the job alone. Pages that no pair uses are not touched.
// Next     request.hpp for what is in a cell.
#pragma once

#include <cstdint>
#include <optional>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// The words that immediates can name for a signal, by numbers: a few, then all from `heap` on.
struct SignalWords {
    std::uint64_t few = 0;  ///< where they are
    std::uint64_t few_count = 0;
    std::uint64_t heap = 0;

    /// Nothing: it has no number.
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

    std::uint64_t offset = 0;  ///< in every segment; a multiple of the cell stride's alignment
    Rank ranks = 0;            ///< of the job
    SignalWords words;
    std::uint64_t before_first = 0;  ///< number of the request before the first, for tests of wraps

    /// Requests of one rank to another at a time.
    [[nodiscard]] constexpr std::uint64_t slots() const {
        return ranks <= kRanksWithLongRings ? kSlotsMax : kSlotsMax / 4;
    }
    /// Where an origin's request number `sequence` goes, in the target's segment.
    [[nodiscard]] constexpr std::uint64_t request(Rank origin, std::uint64_t sequence) const {
        return offset + slot(origin, sequence) * base::kCellStride;
    }
    /// Where the target's reply to it goes, in the origin's segment.
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
