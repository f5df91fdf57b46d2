// SPDX-License-Identifier: BSD-3-Clause
// candidates.hpp - the algorithms that are worth a prediction when none is forced.
//
// Idea     Every algorithm of the list by its plain name, unless a parameter of it has no usual
//          value, and what it names itself: variants of its parameters that suit so many ranks.
//          Pipelines also in one piece, and in as many as suit what messages and bytes cost.
//          Those that are made for nodes of several ranks only where there are such.
// Holds    The same arguments give the same list, in the same order. There are a few dozen at most,
//          whatever the number of ranks.
// Next     algorithm.hpp, `variants`; plan/select for how they are ranked.
#pragma once

#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"

namespace weft::collectives {

/// Some may not fit the number of ranks: their generators say so.
[[nodiscard]] std::vector<AlgorithmSpec> candidate_specs(std::string_view collective,
                                                         const CandidateRequest& request);

/// Whether the spec says no more than how many pieces its algorithm cuts the vector of this request
/// into anyway: its programs are those of the plain name.
[[nodiscard]] bool repeats_plain_name(const Algorithm& algorithm, const AlgorithmSpec& spec,
                                      const GenerateRequest& request);

}  // namespace weft::collectives
