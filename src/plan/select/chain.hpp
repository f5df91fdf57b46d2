// SPDX-License-Identifier: BSD-3-Clause
// chain.hpp - a time that a call cannot be over before, from the programs of few ranks.
//
// Idea     Rank 0 is not done before it has done what follows its last wait; that wait is not over
//          before its sender has done what comes before the message, and so on, from rank to rank
//          along the chain of last waits.
// Why      It is mostly close to the simulator's time and needs a program for each round, not for
//          each rank: what cannot be the quickest need not be simulated. A chain through all ranks
//          is followed as far as is asked.
// Next     select.cpp, Scope::chosen.
#pragma once

#include <vector>

#include "plan/select/predict.hpp"
#include "plan/select/put_models.hpp"

namespace weft::plan {

/// That ends at `last`, under these models. Fails where that rank has no program.
[[nodiscard]] base::Result<LeastTime> chain_time(const Candidate& candidate, Rank size,
                                                 const VectorSize& vector, const PutModels& models,
                                                 const ChainEnd& end);

/// Where data that rank 0 sends ends up, if each rank's last message is followed: a rank for each
/// of its lanes that sends any.
[[nodiscard]] std::vector<Rank> last_receivers(const Candidate& candidate, Rank size,
                                               const VectorSize& vector);

/// The same candidate; the first programs that it is asked for, in teams of that size, are kept,
/// since they are asked for again and again.
[[nodiscard]] Candidate with_kept_programs(const Candidate& candidate, Rank size);

}  // namespace weft::plan
