// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/program.hpp"

#include <algorithm>

namespace weft::plan {

std::uint32_t Program::descriptors() const {
    return static_cast<std::uint32_t>(std::ranges::count_if(steps, [](const Step& step) {
        return step.kind == StepKind::put || step.kind == StepKind::signal ||
               step.kind == StepKind::expose || step.kind == StepKind::publish;
    }));
}

}  // namespace weft::plan
