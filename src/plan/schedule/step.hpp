// SPDX-License-Identifier: BSD-3-Clause
// step.hpp - what a program is made of: steps over blocks of data.
//
// Idea     A step is a 32-byte value that names buffers, never addresses. It can be printed,
//          checked, simulated and bound to memory, all from the same value.
// Why      Only files that look at steps read this header: who writes, keeps or passes on programs
//          does with program.hpp and builder.hpp, which know steps by name alone. So a change here
//          compiles few files again.
// Holds    Only put, signal, expose, publish and wait order things between ranks; the order of the
//          steps orders things within a lane.
// Next     block.hpp for the blocks; program.hpp for how steps form a program; builder.hpp for how
//          generators write one.
#pragma once

#include <cstdint>

#include "plan/schedule/block.hpp"
#include "plan/schedule/step_flags.hpp"

namespace weft::plan {

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
