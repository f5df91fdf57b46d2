// SPDX-License-Identifier: BSD-3-Clause
// uniform.hpp - an engine for teams in which all ranks have one program, at the same distances.
//
// Idea     Direct exchanges, rings and Bruck's algorithms: the step of one rank is that of all, so
//          each step is done for all of them in a row. What differs from rank to rank is which
//          messages stay on its node.
// Why      On nodes of different sizes no few ranks stand for all, and a direct exchange of 2304
//          ranks has five million messages: one after the other they take most of a second, in rows
//          a hundredth.
// Holds    The same times as the generic engine, to the picosecond.
// Next     select/predict.cpp asks it; select/folding.cpp finds such programs.
#pragma once

#include "plan/simulate/simulate.hpp"

namespace weft::plan {

/// `program`: of any rank. Status::unsupported for what does not go in rows: several lanes,
/// published cells, gaps, cards, noise, skew, topology, vectors whose units differ, and where what
/// a rank reads or receives takes longer if it came over the network.
[[nodiscard]] base::Result<Outcome> simulate_uniform(const Program& program, const VectorSize& size,
                                                     const FarPuts& far,
                                                     const Surroundings& surroundings);

}  // namespace weft::plan
