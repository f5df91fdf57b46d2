// SPDX-License-Identifier: BSD-3-Clause
// step.hpp - steps, the instructions of programs.
//
// Idea     A step is a 32-byte value that names buffers, never addresses. It can be printed,
//          checked, simulated and bound to memory.
// Holds    Only put, signal, expose, publish and wait order actions of different ranks. The order
//          of steps orders actions within a lane.
#pragma once

#include <cstdint>

#include "plan/schedule/block.hpp"

namespace weft::plan {

enum class StepKind : std::uint8_t {
    /// Copy `source` into slot `signal` of `peer`, or into the peer's exposed block `target` if the
    /// list is not empty. Then raise signal `signal` there.
    put,
    signal,  ///< raise signal `signal` at `peer`, without data
    /// Store the location of block `source` in entry `signal` of the peer's table of mapped blocks.
    /// Then raise signal `signal` there.
    expose,
    /// Store the payload `source` where local peers read it in place, and the flag in the rank's
    /// published cell `signal`.
    publish,
    wait,   ///< wait until `peer` has raised (or published) `signal` for this segment
    flush,  ///< wait until the sources of this lane's earlier puts may be overwritten
    /// Each target = operand 0 (op) operand 1 (op) ... `source` is the blocks of all operands in
    /// order, `target` the blocks of all targets. All operands and targets have equal shapes.
    reduce,
    copy,  ///< `target` = `source`
    /// Run the next `signal` steps `operands` times; 0: once for each segment.
    loop,
    // The rank sleeps or computes for `signal` nanoseconds. Only programs written by hand have
    // these steps. The simulator adds their time; the engine and the verifier ignore them.
    sleep,
    compute,
};

/// Returns true for steps that raise a flag at another rank.
[[nodiscard]] constexpr bool raises_flag(StepKind kind) {
    return kind == StepKind::put || kind == StepKind::signal || kind == StepKind::expose ||
           kind == StepKind::publish;
}

struct Step {
    StepKind kind = StepKind::flush;
    std::uint8_t flags = 0;  ///< StepFlags
    /// For credits in a loop. A wait with lag L awaits in segment s the signal of segment s - L, or
    /// nothing if s < L. A signal with lag L raises nothing in the last L segments.
    std::uint16_t lag = 0;
    Rank peer = kNoRank;         ///< put, signal, expose: target; wait: sender
    std::uint32_t signal = 0;    ///< number of slot and signal, or as described at StepKind
    std::uint32_t operands = 0;  ///< reduce: number of operands; loop: iterations, see StepKind
    BlockList target = {};
    BlockList source = {};

    friend bool operator==(const Step&, const Step&) = default;
};
static_assert(sizeof(Step) == 32);

/// Returns the number of targets of a reduction; 1 for other or ill-formed steps.
[[nodiscard]] constexpr std::uint32_t targets_of(const Step& step) {
    if (step.kind != StepKind::reduce || step.operands == 0) return 1;
    const std::uint32_t blocks = step.source.count / step.operands;
    return blocks == 0 || step.target.count % blocks != 0 ? 1 : step.target.count / blocks;
}
/// Returns target number i of a reduction or copy.
[[nodiscard]] constexpr BlockList target_of(const Step& step, std::uint32_t i) {
    const std::uint32_t blocks = step.target.count / targets_of(step);
    return {step.target.start + i * blocks, blocks};
}
/// Returns operand number i of a reduction, or the source of a copy.
[[nodiscard]] constexpr BlockList operand_of(const Step& step, std::uint32_t i) {
    const std::uint32_t operands = step.kind == StepKind::reduce ? step.operands : 1;
    const std::uint32_t blocks = step.source.count / operands;
    return {step.source.start + i * blocks, blocks};
}

}  // namespace weft::plan
