// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/program.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::plan {

std::uint32_t Program::descriptors() const {
    return as_u32(std::ranges::count_if(steps, [](const Step& step) {
        return step.kind == StepKind::put || step.kind == StepKind::signal ||
               step.kind == StepKind::expose || step.kind == StepKind::publish;
    }));
}

void Program::set_counts(std::span<const std::uint64_t> counts) {
    unit_counts.assign(counts.begin(), counts.end());
    const std::uint64_t pieces = counts.empty() ? 0 : units / counts.size();
    WEFT_CHECK(pieces > 0 && units % counts.size() == 0, units, counts.size());
    const std::uint64_t largest = std::ranges::max(counts);
    unit_elements = largest / pieces + (largest % pieces != 0 ? 1 : 0);
}

}  // namespace weft::plan
