// SPDX-License-Identifier: BSD-3-Clause
// region.hpp - where put targets lie: the memory that every rank sets aside for one team.
//
// Idea     A region has three areas: *cells* (one cache line each: a flag and a small payload, written
//          by one peer), *published cells* (written by the owner, read in place by its node-mates) and
//          *bulk banks* (large payloads). Cells and published cells exist once per bank, W banks in
//          turn; bulk banks are few. Offsets are the same on all members, so a writer computes them.
// Why      Cells are ordered number-major (all banks of cell 0, then of cell 1): a call that uses few
//          cells touches few pages. Flag words are never written as data, so stale bytes cannot look
//          like a flag (docs/one-sided.md).
// Next     put.hpp for what is written there; run/execute/window.hpp for when a bank may be reused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::base {

/// Largest payload that travels inside a cell, in bytes.
inline constexpr std::size_t kCellPayload = 48;

/// One cache line with one writer. On a node the writer stores payload, then flag (release). Over a
/// network the payload and `landed` are written remotely, and the owner copies `landed` to `flag`
/// when the notify strategy has proven that all of it is there.
struct alignas(64) Cell {
    std::atomic<std::uint64_t> flag;
    std::uint64_t landed;
    std::byte payload[kCellPayload];
};
static_assert(sizeof(Cell) == 64);
inline constexpr std::size_t kCellLanded = 8;          ///< offset of Cell::landed
inline constexpr std::size_t kCellPayloadOffset = 16;  ///< offset of Cell::payload

/// Flag words: a 48-bit tick (which use of the cell) above a 16-bit hash of the call.
using FlagWord = std::uint64_t;
using Tick = std::uint64_t;
inline constexpr Tick kTickMask = (Tick{1} << 48) - 1;
[[nodiscard]] constexpr FlagWord flag_word(Tick tick, std::uint16_t call_hash) {
    return (tick << 16) | call_hash;
}
[[nodiscard]] constexpr Tick tick_of(FlagWord word) {
    return word >> 16;
}
[[nodiscard]] constexpr std::uint16_t hash_of(FlagWord word) {
    return static_cast<std::uint16_t>(word);
}
/// Signed distance a - b of two ticks, right across the wrap of their 48 bits.
[[nodiscard]] constexpr std::int64_t tick_distance(Tick a, Tick b) {
    return static_cast<std::int64_t>((a - b) << 16) >> 16;
}

/// Sizes of a region; the same on all members of a team.
struct RegionShape {
    std::uint32_t cells = 0;       ///< cells per bank, and published cells per bank
    std::uint32_t banks = 0;       ///< W of cells; a power of two
    std::uint32_t bulk_banks = 0;  ///< W of bulk banks; a power of two
    std::uint64_t bulk_bytes = 0;  ///< bytes of one bulk bank; a multiple of 64

    [[nodiscard]] constexpr std::uint64_t cell(std::uint32_t bank, std::uint32_t number) const {
        return (std::uint64_t{number} * banks + bank) * sizeof(Cell);
    }
    [[nodiscard]] constexpr std::uint64_t published(std::uint32_t bank,
                                                    std::uint32_t number) const {
        return area_bytes() + cell(bank, number);
    }
    [[nodiscard]] constexpr std::uint64_t bulk(std::uint32_t bank) const {
        return 2 * area_bytes() + bank * bulk_bytes;
    }
    [[nodiscard]] constexpr std::uint64_t bytes() const { return bulk(bulk_banks); }

  private:
    [[nodiscard]] constexpr std::uint64_t area_bytes() const {
        return std::uint64_t{cells} * banks * sizeof(Cell);
    }
};

}  // namespace weft::base
