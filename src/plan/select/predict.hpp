// SPDX-License-Identifier: BSD-3-Clause
// predict.hpp - predicted time of a call with one algorithm on a machine.
//
// Idea     The programs of a few ranks give the time of a single call (sampled_ranks.hpp). If ranks
//          share processors, their work is estimated from sampled ranks (shared_work.hpp). In a
//          stream, calls may overlap, so each may take less time than a call alone.
// Holds    Arithmetic is on whole numbers, so all ranks get the same time.
// Next     prediction.hpp; select.hpp; tools/lab/cost/cost.hpp for the programs of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

/// Returns the program of a rank; fails if the algorithm does not support the team size.
using ProgramGenerator = std::function<base::Result<Program>(Rank)>;

/// An algorithm with its parameters, as a generator of programs for one team.
struct Candidate {
    std::string algorithm;
    bool ordered = false;        ///< combines in rank order
    bool bit_identical = false;  ///< all ranks get the same bits
    ProgramGenerator program;
    /// Returns the number of banks for calls of this size, which limits the calls in flight. Empty
    /// for teams on one node.
    std::function<std::uint32_t()> banks = {};
};

/// Predicted cost of one call.
struct PredictedCost {
    Time time = 0;                   ///< time of a call alone, in ps
    Time in_stream = 0;              ///< time of each call in a stream of overlapping calls, in ps
    std::uint64_t messages = 0;      ///< number of messages that the sampled ranks send
    bool in_place = false;           ///< a sampled rank exposes a buffer to a local peer
    bool delivers_directly = false;  ///< a sampled rank exposes a buffer to a remote rank
};

/// Predicts a call from a sample of about kStepsOfSample steps. Fails if the candidate does not
/// support `size` ranks.
[[nodiscard]] base::Result<PredictedCost> predict(const Machine& machine, Rank size,
                                                  const Candidate& candidate,
                                                  const BufferSize& buffer);

}  // namespace weft::plan
