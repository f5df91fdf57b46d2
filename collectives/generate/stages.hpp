// SPDX-License-Identifier: BSD-3-Clause
// stages.hpp - common frame of allreduce algorithms that exchange the whole vector in stages.
#pragma once

#include "collectives/algorithm.hpp"

namespace weft::collectives {

/// Returns an allreduce in stages; `add(stages)` appends the stages.
template <class Add>
[[nodiscard]] base::Result<plan::Stages> stages_of_vector(const AlgorithmSpec& spec,
                                                          const GenerateRequest& request, Add add) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allreduce", spec, request);
    if (request.elements == 0) {  // without data no call is synchronizing
        header.units = 0;
        return plan::begin_stages(std::move(header));
    }
    header.units = *segments;
    header.segments = *segments;
    header.depth = *segments > 1 ? 2 : 1;
    header.synchronizing = true;
    plan::Stages stages = plan::begin_stages(std::move(header));
    stages.carries = true;
    stages.interleaves = *segments > 1 && !request.one_at_a_time;
    add(stages);
    return stages;
}

}  // namespace weft::collectives
