// SPDX-License-Identifier: BSD-3-Clause
// multiplying.hpp - recursive multiplying as stages: the partners of each rank in a schedule.
//
// Idea     Each stage of the notation becomes a stage of plan::Stages. Each level becomes a
//          numbering of its active ranks. The caller determines the data of the stages: vectors
//          (allreduce) or none (barrier).
#pragma once

#include <string>
#include <vector>

#include "collectives/notation/optimum.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives::patterns {

/// Appends the stages of a schedule. `paper_placement` selects Placement::paper for the remainders
/// of merges, else Placement::ordered (algorithm.hpp).
void add_stages(plan::Stages& stages, const Shape& shape, bool paper_placement);

/// Returns a schedule of a2 stages. If the size is no power of two, the surplus ranks first send to
/// a partner (c2m.. stage) and receive the result at the end.
[[nodiscard]] Schedule doubling_schedule(Rank size);

/// Returns schedules that are worth a prediction. The first is the cheapest one by cost_of(). For
/// expensive rounds there are a single exchange of all ranks, and a gather to one rank and back. If
/// all nodes have equally many ranks (ranks_per_node > 0), there are also schedules that combine
/// within nodes first.
[[nodiscard]] std::vector<std::string> promising_schedules(Rank size, Rank ranks_per_node,
                                                           const StageCost& stage);

}  // namespace weft::collectives::patterns
