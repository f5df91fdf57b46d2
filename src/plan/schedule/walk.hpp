// SPDX-License-Identifier: BSD-3-Clause
// walk.hpp - the steps of a lane, as often as each does something.
#pragma once

#include "plan/schedule/cursor.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"

namespace weft::plan {

/// To the next step of the program.
inline void advance(Cursor& cursor, const Program& program) {
    const Step& step = program.steps[cursor.at];
    if (step.kind == StepKind::loop) cursor.open_loop(step.signal, program.repeats(step));
    cursor.next(program.segments);
}

/// Whether the step does nothing in the segment that the cursor stands in.
[[nodiscard]] inline bool skips(const Cursor& cursor, const Step& step) {
    return step.kind == StepKind::wait ? cursor.skips_wait(step.lag)
                                       : cursor.skips_signal(step.lag);
}

/// Calls visit(step, segment) for each step of a lane as often as it does something.
template <class Visit>
void for_each_step(const Program& program, const Lane& lane, Visit visit) {
    for (Cursor cursor = begin_of(lane, program.segments); !cursor.ended();
         advance(cursor, program)) {
        const Step& step = program.steps[cursor.at];
        if (step.kind != StepKind::loop && !skips(cursor, step)) visit(step, cursor.segment);
    }
}

}  // namespace weft::plan
