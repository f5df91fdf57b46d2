// SPDX-License-Identifier: BSD-3-Clause
// multiplying.hpp - recursive multiplying as stages: who meets whom in a schedule of the notation.
//
// Idea     Each stage of the notation becomes one of plan::Stages, each level a numbering. What the
//          ranks carry from stage to stage is up to who asks: vectors (allreduce) or nothing
//          (barrier).
// Next     notation/schedule.hpp for the rules; plan/schedule/stages.hpp for what a stage makes
//          ranks do.
#pragma once

#include <string>
#include <vector>

#include "collectives/notation/optimum.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives::patterns {

/// Appends the stages of a schedule. Placement of a merge's remainders: in rank order, or the
/// paper's.
void add_stages(plan::Stages& stages, const Shape& shape, bool papers_placement);

/// a2 stages; if the size is no power of two, pairs of ranks fold first.
[[nodiscard]] Schedule doubling_schedule(Rank size);

/// Schedules worth a prediction: the cheapest by the model; all at once and all through one, where
/// rounds cost much; and, if nodes are filled evenly (ranks_per_node > 0), those that finish on the
/// nodes first.
[[nodiscard]] std::vector<std::string> promising_schedules(Rank size, Rank ranks_per_node,
                                                           const StageCost& stage);

}  // namespace weft::collectives::patterns
