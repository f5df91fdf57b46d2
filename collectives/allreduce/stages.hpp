// SPDX-License-Identifier: BSD-3-Clause
// stages.hpp - what allreduces that go stage by stage with the whole vector begin with.
//
// Next     blocks.hpp, likewise for generators of a rank's program; plan/schedule/stages.hpp.
#pragma once

#include "collectives/algorithm.hpp"

namespace weft::collectives {

/// The stages that `add(stages)` adds.
template <class Add>
[[nodiscard]] base::Result<plan::Stages> stages_of_vector(const AlgorithmSpec& spec,
                                                          const GenerateRequest& request, Add add) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allreduce", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {  // nothing to send: such a call never is synchronizing
        header.units = 0;
        return plan::begin_stages(std::move(header));
    }
    header.units = *segments;
    header.segments = *segments;
    header.depth = *segments > 1 ? 2 : 1;
    header.synchronizing = true;
    plan::Stages stages = plan::begin_stages(std::move(header));
    stages.carries = true;
    add(stages);
    return stages;
}

}  // namespace weft::collectives
