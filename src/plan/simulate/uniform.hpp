// SPDX-License-Identifier: BSD-3-Clause
// uniform.hpp - engine for teams whose ranks all have one program, at the same distances.
//
// Idea     Direct exchanges, rings and Bruck's algorithms have equal steps on all ranks, so each
//          step is computed for all ranks in a row. Ranks differ only in which of their messages
//          stay on the node.
// Why      On nodes of different sizes no few ranks represent all. A direct exchange of 2304
//          ranks has five million messages; one by one they take most of a second, in rows a
//          hundredth of it.
// Holds    The times equal those of the generic engine, to the picosecond.
// Next     select/predict.cpp uses it; select/folding.cpp finds such programs.
#pragma once

#include "plan/simulate/simulate.hpp"

namespace weft::plan {

/// Simulates a team with the program of any rank. Returns Status::unsupported for several lanes,
/// published cells, gaps, NICs, noise, skew, a topology or units of different sizes. The same holds
/// if reading or receiving takes longer for data from the network.
[[nodiscard]] base::Result<Outcome> simulate_uniform(const Program& program, const VectorSize& size,
                                                     const FarPuts& far,
                                                     const Surroundings& surroundings);

}  // namespace weft::plan
