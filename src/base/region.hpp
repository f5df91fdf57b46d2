// SPDX-License-Identifier: BSD-3-Clause
// region.hpp - layout of put targets: the memory that every rank reserves for one team.
//
// Idea     A region has four areas:
//          - *cells*: a flag and a small payload, written by one peer; each followed by a landing
//          - *published cells*: written by the owner, read in place by its local peers
//          - *bulk banks*: payloads that fit no cell
//          - *credits*: one cache line with the owner's numbers of completed calls, read by local
//            peers
//
//          Cells and published cells exist once per bank, in W banks. Bulk banks are for payloads
//          of puts and of publish steps. They have five sizes, with more banks of smaller sizes.
//          Offsets are equal on all members, so a writer computes them.
// Why      Cells are ordered by number (all banks of cell 0, then of cell 1), so a call with few
//          cells touches few pages. Flag words are never written as data, so stale bytes cannot
//          look like a flag (docs/one-sided.md).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::base {

/// Largest payload that fits in a cell, in bytes.
inline constexpr std::size_t kCellPayload = 48;

/// One cache line with one writer. A local peer stores the payload, then the flag (release). A
/// remote peer writes the payload and `delivered`, or both the payload and the flag word to the
/// landing after the cell. The owner raises `flag` when the whole put is proven to be delivered.
struct alignas(64) Cell {
    std::atomic<std::uint64_t> flag;
    std::uint64_t delivered;
    std::byte payload[kCellPayload];
};
static_assert(sizeof(Cell) == 64);
inline constexpr std::size_t kCellDelivered = 8;       ///< offset of Cell::delivered
inline constexpr std::size_t kCellPayloadOffset = 16;  ///< offset of Cell::payload

/// Two lines after a cell, for remote writers only. Puts of the notify strategies `cells` and
/// `counter` arrive in `words`. With `cells`, each word has four bytes of data in its low half and
/// a tag in its high half. The owner clears words that it has read.
struct alignas(64) Landing {
    static constexpr std::size_t kWords = (sizeof(std::uint64_t) + kCellPayload) / 4;

    std::uint64_t words[kWords];
    std::uint64_t unused;
    std::uint64_t taken;  ///< last Cell::delivered that the owner stored as the flag
};
static_assert(sizeof(Landing) == 128);
inline constexpr std::size_t kLandingOffset = sizeof(Cell);  ///< bytes from a cell to its landing
/// Bytes from one cell to the next. Published cells have no landings, so sizeof(Cell) bytes.
inline constexpr std::size_t kCellStride = sizeof(Cell) + sizeof(Landing);

/// A flag word: a 48-bit tick (number of the cell's use) in the high bits, and a 16-bit hash of
/// this call and all preceding calls in the low bits.
using FlagWord = std::uint64_t;
using Tick = std::uint64_t;
inline constexpr Tick kTickMask = (Tick{1} << 48) - 1;
[[nodiscard]] constexpr FlagWord flag_word(Tick tick, std::uint16_t hash) {
    return (tick << 16) | hash;
}
[[nodiscard]] constexpr Tick tick_of(FlagWord word) {
    return word >> 16;
}
[[nodiscard]] constexpr std::uint16_t hash_of(FlagWord word) {
    return static_cast<std::uint16_t>(word);
}
/// Returns the signed distance a - b of two ticks, also across the wrap of their 48 bits.
[[nodiscard]] constexpr std::int64_t tick_distance(Tick a, Tick b) {
    return static_cast<std::int64_t>((a - b) << 16) >> 16;
}

/// Hash of all calls of a team up to and including one call. Ranks that made different calls have
/// different digests. So the next wait detects the difference, even if these calls had no waits.
using Digest = std::uint64_t;
/// Hash of all properties of one call on which ranks must agree.
using CallHash = std::uint64_t;

/// Returns the digest after one more call.
[[nodiscard]] constexpr Digest digest_of(Digest before, CallHash call_hash) {
    Digest mixed = (before ^ call_hash) * 0x9e3779b97f4a7c15ULL;
    return mixed ^ (mixed >> 29);
}
/// Returns the hash in the flags of a call: the top bits of its digest, which depend on all bits of
/// the digest, combined with `salt`. Never 0, so the zeros of an unused cell are not a flag.
[[nodiscard]] constexpr std::uint16_t flag_hash(Digest digest, std::uint16_t salt = 0) {
    const std::uint64_t first = (digest >> 48) ^ salt;
    return static_cast<std::uint16_t>(first | (first == 0 ? 1U : 0U));
}

/// Number of size classes of bulk banks: of small ones, and of all. The last class has large banks.
inline constexpr std::size_t kSmallClasses = 4;
inline constexpr std::size_t kBulkClasses = kSmallClasses + 1;

/// Bulk banks of one size.
struct BankClass {
    std::uint32_t banks = 0;  ///< W, a power of two; 0: no banks
    std::uint64_t bytes = 0;  ///< size of each bank; a multiple of 64

    [[nodiscard]] constexpr std::uint64_t total_bytes() const { return banks * bytes; }
};

/// Flag words by which a rank publishes its completed calls in each window (run/execute/window.hpp)
/// of its team: one window for cells, and one for each class of bulk banks. A tick is the first
/// tick of the team plus the number of calls. Only the owner writes them.
struct alignas(64) CreditLine {
    std::atomic<std::uint64_t> cells;
    std::array<std::atomic<std::uint64_t>, kBulkClasses> bulk;
};
static_assert(sizeof(CreditLine) == 64);

/// Returns the number of cells in each bank of a team of `ranks` ranks: 4 for each rank and 16
/// more, rounded up to a power of two or a multiple of 1024, whichever is less.
[[nodiscard]] constexpr std::uint32_t cells_for(std::uint32_t ranks) {
    constexpr std::uint32_t kUnit = 1024;
    const std::uint32_t needed = 4 * ranks + 16;
    return std::min(std::bit_ceil(needed), (needed + kUnit - 1) / kUnit * kUnit);
}

/// Sizes of a region, equal on all members of a team.
struct RegionShape {
    std::uint32_t cells = 0;       ///< cells per bank, and published cells per bank
    std::uint32_t banks = 0;       ///< W: number of banks of cells; a power of two
    std::uint32_t bulk_banks = 0;  ///< W: number of large bulk banks; a power of two
    std::uint64_t bulk_bytes = 0;  ///< bytes of a large bulk bank; a multiple of 64
    /// Bytes of a bulk bank for payloads that the receiver copies out of slots. Larger payloads are
    /// divided into pieces that stay in the cache. 0: all bytes.
    std::uint64_t copied_bytes = 0;
    /// Small bulk banks by size, the smallest first.
    std::array<BankClass, kSmallClasses> small = {};

    [[nodiscard]] constexpr std::uint64_t copied_bytes_max() const {
        return copied_bytes != 0 ? copied_bytes : bulk_bytes;
    }
    // Offsets in the region: of a cell, a published cell, and a large bulk bank.
    [[nodiscard]] constexpr std::uint64_t cell(std::uint32_t bank, std::uint32_t number) const {
        return (std::uint64_t{number} * banks + bank) * kCellStride;
    }
    [[nodiscard]] constexpr std::uint64_t published(std::uint32_t bank,
                                                    std::uint32_t number) const {
        return total_cells() * kCellStride + (std::uint64_t{number} * banks + bank) * sizeof(Cell);
    }
    [[nodiscard]] constexpr std::uint64_t bulk(std::uint32_t bank) const {
        return total_cells() * (kCellStride + sizeof(Cell)) + bank * bulk_bytes;
    }
    [[nodiscard]] constexpr BankClass bulk_class(std::size_t number) const {
        return number < kSmallClasses ? small[number] : BankClass{bulk_banks, bulk_bytes};
    }
    /// Returns the offset of the banks of a class. The large banks precede the small ones.
    [[nodiscard]] constexpr std::uint64_t start_of_class(std::size_t number) const {
        if (number == kSmallClasses) return bulk(0);
        std::uint64_t start = bulk(bulk_banks);
        for (std::size_t before = 0; before < number; ++before)
            start += small[before].total_bytes();
        return start;
    }
    /// Returns the offset of the CreditLine.
    [[nodiscard]] constexpr std::uint64_t credits() const {
        return start_of_class(kSmallClasses - 1) + small[kSmallClasses - 1].total_bytes();
    }
    /// Returns the number of a bank's cells in the first 4 MiB: enough for most calls of any team.
    [[nodiscard]] constexpr std::uint32_t first_cells() const {
        constexpr std::uint64_t kFirstBytes = std::uint64_t{4} << 20;
        const std::uint64_t first = kFirstBytes / (std::uint64_t{banks} * kCellStride);
        return first < cells ? static_cast<std::uint32_t>(first) : cells;
    }
    /// Returns the size of the region.
    [[nodiscard]] constexpr std::uint64_t bytes() const { return credits() + sizeof(CreditLine); }

  private:
    /// Returns the number of cells in all banks.
    [[nodiscard]] constexpr std::uint64_t total_cells() const {
        return std::uint64_t{cells} * banks;
    }
};

}  // namespace weft::base
