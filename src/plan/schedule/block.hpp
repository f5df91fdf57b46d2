// SPDX-License-Identifier: BSD-3-Clause
// block.hpp - blocks of data, which the steps of a program name, and the flags of steps.
//
// Idea     A block names a buffer and some of its units, never an address. Generators write blocks;
//          binding maps them to memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/types.hpp"

namespace weft::plan {

inline constexpr Rank kNoRank = -1;

/// Converts a number that is known to be in range, such as a rank used as a slot number.
template <class Number>
[[nodiscard]] constexpr std::uint32_t as_u32(Number number) {
    return static_cast<std::uint32_t>(number);
}

/// Kinds of buffers. The first three are cut into the program's units (partition.hpp). The others
/// hold payloads.
enum class Buffer : std::uint8_t {
    input,      ///< the caller's buffer to read
    output,     ///< the caller's buffer to fill; may be the same memory as input
    scratch,    ///< private buffer number `index`, with the units of the output
    slot,       ///< data that was put into this rank's slot number `index`
    published,  ///< data that rank `peer` published under number `index`, read in place
    mapped,     ///< block that rank `peer` exposed under number `index`, accessed in place
};
inline constexpr std::array<std::string_view, 6> kBufferNames{"input", "output",    "scratch",
                                                              "slot",  "published", "mapped"};

/// `count` units of a buffer: first, first + stride, ... In a loop, `first` and `origin` grow by
/// `advance` with each segment.
///
/// A payload (slot, published, mapped) holds the units of its source, packed in their order.
/// `origin` is the payload's first unit. If the units are consecutive, unit u follows the bytes of
/// the units origin .. u - 1. If it was put from several blocks, the reader's list of blocks names
/// the same units in the same order.
struct Block {
    Buffer buffer = Buffer::input;
    Rank peer = kNoRank;       ///< published, mapped: owner of the memory
    std::uint32_t index = 0;   ///< scratch, slot, published, mapped: number of the buffer
    std::uint32_t origin = 0;  ///< slot, published, mapped: first unit of the payload
    std::uint32_t first = 0;
    std::uint32_t count = 1;
    std::uint32_t stride = 1;
    std::uint32_t advance = 0;  ///< added to first and origin for each segment of a loop

    friend bool operator==(const Block&, const Block&) = default;
};

/// Returns true for buffers that hold payloads.
[[nodiscard]] constexpr bool is_payload(Buffer buffer) {
    return buffer >= Buffer::slot;
}

/// Returns the block as it is in a segment of a loop.
[[nodiscard]] constexpr Block at_segment(Block block, std::uint32_t segment) {
    block.first += block.advance * segment;
    block.origin += block.advance * segment;
    return block;
}

/// Returns the number of units in a list.
[[nodiscard]] constexpr std::uint64_t units_of(std::span<const Block> list) {
    std::uint64_t units = 0;
    for (const Block& block : list) units += block.count;
    return units;
}

/// A list of blocks: `count` consecutive entries of Program::blocks.
struct BlockList {
    std::uint32_t start = 0;
    std::uint32_t count = 0;

    friend bool operator==(const BlockList&, const BlockList&) = default;
};

enum StepFlags : std::uint8_t {
    /// put, signal: all puts of this rank under this number (and segment) have the same payload,
    /// and the receivers know this. Local peers may read one published copy in place. wait: the
    /// sender's puts have this flag.
    kShared = 1,
    kFromPublished = 2,  ///< wait: for the published cell of `peer`, not for a signal to this rank
    kWritten = 4,        ///< expose: the peer may also write the block
};

}  // namespace weft::plan
