// SPDX-License-Identifier: BSD-3-Clause
// block.hpp - blocks of data: what the steps of a program name.
//
// Idea     A block names a buffer and some of its units, never an address. Generators write blocks;
//          binding joins them to memory.
// Next     step.hpp for the steps over them; builder.hpp for how generators write both.
#pragma once

#include <cstdint>

#include "weft/types.hpp"

namespace weft::plan {

inline constexpr Rank kNoRank = -1;

/// The data a block can lie in. A *vector* is cut into the program's units (partition.hpp).
enum class Buffer : std::uint8_t {
    input,      ///< the caller's vector to read
    output,     ///< the caller's vector to fill; may be the same memory as input
    scratch,    ///< private vector number `index`, shaped like the output
    slot,       ///< what arrived in my put target number `index`
    published,  ///< what rank `peer` published under number `index`, read in place
    mapped,     ///< what rank `peer` exposed to me under number `index`, read or written in place
};

/// Some units of a buffer: first, first + stride, ... (count of them). Inside a loop the numbers
/// `first` and `origin` grow by `advance` with each segment.
///
/// Payloads (slot, published, mapped) hold the units of the source block packed in their order.
/// `origin` is the unit at which a payload starts: unit u of a payload of consecutive units lies
/// bytes(origin .. u) after its start. A payload put from several blocks is read by a list of
/// blocks that names the same units in the same order.
struct Block {
    Buffer buffer = Buffer::input;
    Rank peer = kNoRank;       ///< published, mapped: the rank whose memory it is
    std::uint32_t index = 0;   ///< scratch, slot, published, mapped: which one
    std::uint32_t origin = 0;  ///< slot, published, mapped: first unit of the payload
    std::uint32_t first = 0;
    std::uint32_t count = 1;
    std::uint32_t stride = 1;
    std::uint32_t advance = 0;  ///< added to first and origin for each segment of the loop

    friend bool operator==(const Block&, const Block&) = default;
};

/// A list of blocks: `count` consecutive entries of Program::blocks.
struct BlockList {
    std::uint32_t start = 0;
    std::uint32_t count = 0;

    friend bool operator==(const BlockList&, const BlockList&) = default;
};

}  // namespace weft::plan
