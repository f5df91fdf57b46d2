// SPDX-License-Identifier: BSD-3-Clause
// cursor.hpp - position in a lane of a program, with the rules for loops and lags.
//
// Idea     A cursor visits the steps of a lane in order. At the end of a loop's body it returns to
//          the start of the body until all iterations are done.
// Holds    The verifier, the simulator and the engine all use this cursor.
#pragma once

#include "plan/schedule/program.hpp"

namespace weft::plan {

struct Cursor {
    std::uint32_t at = 0;         ///< index of the next step
    std::uint32_t end = 0;        ///< one past the last step of the lane
    std::uint32_t segment = 0;    ///< iteration of the open loop, from 0
    std::uint32_t loop_body = 0;  ///< first step of the open loop
    std::uint32_t loop_end = 0;   ///< one past the last step of the open loop; 0: no loop is open
    std::uint32_t repeats = 1;    ///< iterations of the open loop; if none: Program::segments
    std::uint32_t start = 0;      ///< Lane::start: first segment of each loop
    std::uint32_t stride = 1;     ///< Lane::stride: distance between segments of a loop

    [[nodiscard]] bool ended() const { return at == end; }
    [[nodiscard]] bool in_loop() const { return loop_end != 0; }

    /// Opens the loop of the current step. The body has `steps` steps and runs `times` times.
    void open_loop(std::uint32_t steps, std::uint32_t times) {
        if (steps == 0) return;
        segment = start;
        loop_body = at + 1;
        loop_end = at + 1 + steps;
        repeats = times;
    }
    /// Moves to the next step. `segments`: Program::segments.
    void next(std::uint32_t segments) {
        ++at;
        if (loop_end == 0 || at != loop_end) return;
        segment += stride;
        if (segment < repeats) {
            at = loop_body;
        } else {
            segment = 0;
            loop_end = 0;
            repeats = segments;
        }
    }
    // Return true if a signal or wait with a lag does nothing in this segment (Step::lag).
    [[nodiscard]] bool skips_signal(std::uint32_t lag) const {
        return lag != 0 && segment + lag >= repeats;
    }
    [[nodiscard]] bool skips_wait(std::uint32_t lag) const { return lag != 0 && segment < lag; }
};

/// Returns a cursor at the first step of a lane. `segments`: Program::segments.
[[nodiscard]] inline Cursor begin_of(const Lane& lane, std::uint32_t segments) {
    return {.at = lane.first,
            .end = lane.first + lane.count,
            .repeats = segments,
            .start = lane.start,
            .stride = lane.stride};
}

/// Moves the cursor to the next step in execution order.
inline void advance(Cursor& cursor, const Program& program) {
    const Step& step = program.steps[cursor.at];
    if (step.kind == StepKind::loop) cursor.open_loop(step.signal, program.repeats(step));
    cursor.next(program.segments);
}

/// Returns true if the step does nothing in the cursor's segment.
[[nodiscard]] inline bool skips(const Cursor& cursor, const Step& step) {
    return step.kind == StepKind::wait ? cursor.skips_wait(step.lag)
                                       : cursor.skips_signal(step.lag);
}

}  // namespace weft::plan
