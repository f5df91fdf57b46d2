// SPDX-License-Identifier: BSD-3-Clause
// chain.hpp - a lower bound of a call's time, from the programs of few ranks.
//
// Idea     A rank ends after the work that follows its last wait. That wait ends after the sender's
//          work before the message, and so on from rank to rank: the chain of last waits.
// Why      The bound is mostly close to the simulated time. It needs one program for each hop,
//          not for each rank, so a slow candidate need not be simulated. The caller limits the
//          number of hops.
// Next     select.cpp, Scope::chosen.
#pragma once

#include <vector>

#include "plan/select/predict.hpp"
#include "plan/select/put_models.hpp"

namespace weft::plan {

/// Returns the time of the chain that ends at `end.rank`. Fails if a rank of the chain
/// has no program.
[[nodiscard]] base::Result<LeastTime> chain_time(const Candidate& candidate, Rank size,
                                                 const VectorSize& vector, const PutModels& models,
                                                 const ChainEnd& end);

/// Returns the ranks that data of rank 0 reaches last: one rank for each of its lanes that sends
/// data. The data is followed along the last message of each rank.
[[nodiscard]] std::vector<Rank> last_receivers(const Candidate& candidate, Rank size,
                                               const VectorSize& vector);

/// Returns the same candidate with a cache of the first programs requested for teams of `size`
/// ranks. The search requests the same programs repeatedly.
[[nodiscard]] Candidate with_kept_programs(const Candidate& candidate, Rank size);

}  // namespace weft::plan
