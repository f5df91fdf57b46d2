// SPDX-License-Identifier: BSD-3-Clause
// step.hpp - what a program is made of: blocks of data and steps over them.
//
// Idea     A step is a 32-byte value that names buffers, never addresses. It can be printed,
//          checked, simulated and bound to memory, all from the same value.
// Holds    Only put, signal, expose, publish and wait order things between ranks; the order of the
//          steps orders things within a lane.
// Next     program.hpp for how steps form a program; builder.hpp for how generators write one.
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

enum class StepKind : std::uint8_t {
    put,      ///< copy `source` into slot `signal` of `peer` (or, if given, into its exposed block
              ///< `target`) and raise signal `signal` there, as one unit
    signal,   ///< raise signal `signal` at `peer`; no data
    expose,   ///< a signal that carries where the block `source` lies: fills entry `signal` of the
              ///< peer's table of mapped blocks and raises signal `signal` there
    publish,  ///< store the small payload `source` with its flag into my published cell `signal`
    wait,     ///< until `signal` was raised here by `peer` (or published by it) for this segment
    flush,    ///< until the sources of this lane's earlier puts may be overwritten
    reduce,   ///< each target = operand 0 (op) operand 1 (op) ...; `source` holds the operands in
              ///< order, `target` one list or more, each of as many blocks as an operand
    copy,     ///< `target` = `source`
    loop,  ///< run the next `body` steps once for each segment 0 .. segments-1, or `operands` times
};

enum StepFlags : std::uint8_t {
    kShared = 1,  ///< put, signal: every put of this rank under this number (and segment) has
                  ///< the same payload, and each receiver knows so: near peers may read it in
                  ///< place from one published cell. wait: the sender's puts are shared
    kFromPublished = 2,  ///< wait: for the published cell of `peer`, not for a signal raised here
    kWritten = 4,        ///< expose: the peer may write the block, too
};

struct Step {
    StepKind kind = StepKind::flush;
    std::uint8_t flags = 0;
    std::uint16_t lag = 0;  ///< credits in a loop: what a signal with lag L raises in segment s, a
                            ///< wait with lag L awaits in segment s + L. wait: for the signal of
                            ///< segment s - lag, nothing while s < lag. signal: for segment s, but
                            ///< nothing once s + lag is past the loop (it would not be awaited)
    Rank peer = kNoRank;    ///< put, signal, expose: to whom; wait: from whom
    std::uint32_t signal = 0;    ///< number of slot and signal; loop: number of steps in the body
    std::uint32_t operands = 0;  ///< reduce: how many, of source.count / operands blocks each;
                                 ///< loop: how often, if not once for each segment
    BlockList target = {};
    BlockList source = {};

    friend bool operator==(const Step&, const Step&) = default;
};
static_assert(sizeof(Step) == 32);

/// Lists that a reduction or copy writes: as many as its target holds of an operand's length.
[[nodiscard]] constexpr std::uint32_t targets_of(const Step& step) {
    if (step.kind != StepKind::reduce || step.operands == 0) return 1;
    const std::uint32_t each = step.source.count / step.operands;
    return each == 0 || step.target.count % each != 0 ? 1 : step.target.count / each;
}
/// Target number i of a reduction or copy.
[[nodiscard]] constexpr BlockList target_of(const Step& step, std::uint32_t i) {
    const std::uint32_t each = step.target.count / targets_of(step);
    return {step.target.start + i * each, each};
}
/// Operand number i of a reduction; of a copy, the source.
[[nodiscard]] constexpr BlockList operand_of(const Step& step, std::uint32_t i) {
    const std::uint32_t operands = step.kind == StepKind::reduce ? step.operands : 1;
    const std::uint32_t each = step.source.count / operands;
    return {step.source.start + i * each, each};
}

}  // namespace weft::plan
