// SPDX-License-Identifier: BSD-3-Clause
// candidates.hpp - specs of the algorithms that are worth a prediction if the caller forces none.
//
// Idea     The list has every algorithm by its plain name, unless one of its parameters has no
//          default. It also has the variants that an algorithm suggests for the call. Pipelines are
//          listed with one piece, and with numbers of pieces that balance the costs of messages and
//          bytes. Algorithms for nodes with several ranks are listed only if there are such nodes.
// Holds    Equal arguments give the same list in the same order. It has a few dozen entries at
//          most, for any number of ranks.
// Next     algorithm.hpp, `variants`; plan/select for their ranking.
#pragma once

#include <string_view>
#include <vector>

#include "collectives/algorithm.hpp"

namespace weft::collectives {

/// Returns the candidates. Some may not support the number of ranks; their generators fail then.
[[nodiscard]] std::vector<AlgorithmSpec> candidate_specs(std::string_view collective,
                                                         const CandidateRequest& request);

/// Returns true if the spec only repeats the default number of pieces for this request. Then the
/// plain name gives equal programs.
[[nodiscard]] bool repeats_plain_name(const Algorithm& algorithm, const AlgorithmSpec& spec,
                                      const GenerateRequest& request);

}  // namespace weft::collectives
