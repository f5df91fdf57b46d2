// SPDX-License-Identifier: BSD-3-Clause
// cursor.hpp - where a lane of a program stands, and how it goes on: loops and lags, for all who
// run programs.
//
// Idea     A cursor steps over a lane as over a list; at the end of a loop's body it goes back
//          until the body has run often enough. Steps with a lag do nothing in some segments.
// Holds    The verifier, fingerprints, the simulator's images and the engine all step by this.
// Next     walk.hpp for those that read the steps of a program on their way.
#pragma once

#include "plan/schedule/program.hpp"

namespace weft::plan {

struct Cursor {
    std::uint32_t at = 0;  ///< the next step
    std::uint32_t end = 0;
    std::uint32_t segment = 0;
    std::uint32_t loop_body = 0;  ///< first step of the open loop
    std::uint32_t loop_end = 0;   ///< one past its last step; 0: no loop is open
    std::uint32_t repeats = 1;    ///< of that loop; outside, the segments that there are

    [[nodiscard]] bool ended() const { return at == end; }
    [[nodiscard]] bool in_loop() const { return loop_end != 0; }

    /// At the loop step: its body has `steps` steps and runs `times` times.
    void open_loop(std::uint32_t steps, std::uint32_t times) {
        if (steps == 0) return;
        segment = 0;
        loop_body = at + 1;
        loop_end = at + 1 + steps;
        repeats = times;
    }
    void next(std::uint32_t segments) {
        ++at;
        if (loop_end == 0 || at != loop_end) return;
        if (++segment < repeats) {
            at = loop_body;
        } else {
            segment = 0;
            loop_end = 0;
            repeats = segments;
        }
    }
    /// A signal with a lag raises nothing in the last segments, a wait awaits nothing in the first.
    [[nodiscard]] bool skips_signal(std::uint32_t lag) const {
        return lag != 0 && segment + lag >= repeats;
    }
    [[nodiscard]] bool skips_wait(std::uint32_t lag) const { return lag != 0 && segment < lag; }
};

[[nodiscard]] inline Cursor begin_of(const Lane& lane, std::uint32_t segments) {
    return {.at = lane.first, .end = lane.first + lane.count, .repeats = segments};
}

}  // namespace weft::plan
