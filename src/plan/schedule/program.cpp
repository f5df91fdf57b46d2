// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/program.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/region.hpp"

namespace weft::plan {

std::uint32_t Program::descriptors() const {
    return as_u32(std::ranges::count_if(steps, raises_flag, &Step::kind));
}

void Program::set_counts(std::span<const std::uint64_t> counts) {
    unit_counts.assign(counts.begin(), counts.end());
    const std::uint64_t pieces = counts.empty() ? 0 : units / counts.size();
    WEFT_CHECK(pieces > 0 && units % counts.size() == 0, units, counts.size());
    const std::uint64_t largest = std::ranges::max(counts);
    unit_elements = largest / pieces + (largest % pieces != 0 ? 1 : 0);
}

std::uint32_t window_for(const Program& program) {
    const std::uint64_t cells = base::cells_for(static_cast<std::uint32_t>(program.size));
    const std::uint64_t windows_that_fit =
        cells / std::max<std::uint64_t>(1, std::uint64_t{program.slots} * program.depth);
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(windows_that_fit, 1, std::min(program.segments, kWindowMax)));
}

void repeat_lanes(Program& program, std::uint32_t window) {
    std::vector<Lane> lanes;
    lanes.reserve(program.lanes.size() * window);
    for (std::uint32_t start = 0; start < window; ++start)
        for (const Lane& lane : program.lanes)
            lanes.push_back({lane.first, lane.count, start, window});
    program.lanes = std::move(lanes);
}

void interleave(Program& program) {
    const std::uint32_t window = window_for(program);
    if (window == 1) return;
    program.depth = std::min(program.depth * window, program.segments);
    for (Step& step : program.steps) {
        // A loop with its own number of iterations cannot be divided among the lanes.
        WEFT_CHECK(step.kind != StepKind::loop || step.operands == 0, step.operands);
        step.lag = static_cast<std::uint16_t>(step.lag * window);
    }
    repeat_lanes(program, window);
}

}  // namespace weft::plan
