// SPDX-License-Identifier: BSD-3-Clause
// walk.hpp - visits the executed steps of a lane, with loops unrolled.
#pragma once

#include "plan/schedule/cursor.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"

namespace weft::plan {

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

/// Calls visit(step, segment) for each execution of a step of a lane that does something.
template <class Visit>
void for_each_step(const Program& program, const Lane& lane, Visit visit) {
    for (Cursor cursor = begin_of(lane, program.segments); !cursor.ended();
         advance(cursor, program)) {
        const Step& step = program.steps[cursor.at];
        if (step.kind != StepKind::loop && !skips(cursor, step)) visit(step, cursor.segment);
    }
}

}  // namespace weft::plan
