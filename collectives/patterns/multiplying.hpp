// SPDX-License-Identifier: BSD-3-Clause
// multiplying.hpp - recursive multiplying as stages: the partners of each rank in a schedule.
//
// Idea     Each stage of the notation becomes a plan::Stages stage, and each level becomes
//          a numbering. The caller decides on the data of the stages: vectors (allreduce)
//          or none (barrier).
// Next     notation/schedule.hpp for the rules; plan/schedule/stages.hpp for the steps of a stage.
#pragma once

#include <string>
#include <vector>

#include "collectives/notation/optimum.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives::patterns {

/// Appends the stages of a schedule. The remainders of a merge are in rank order, or in
/// the paper's placement.
void add_stages(plan::Stages& stages, const Shape& shape, bool papers_placement);

/// Returns a schedule of a2 stages. If the size is no power of two, pairs of ranks fold first.
[[nodiscard]] Schedule doubling_schedule(Rank size);

/// Returns schedules that are worth a prediction. The first is the cheapest one of the model. For
/// expensive rounds there are a single exchange of all ranks, and a gather to one rank and back. If
/// nodes are filled evenly (ranks_per_node > 0), schedules that use the nodes first are added.
[[nodiscard]] std::vector<std::string> promising_schedules(Rank size, Rank ranks_per_node,
                                                           const StageCost& stage);

}  // namespace weft::collectives::patterns
