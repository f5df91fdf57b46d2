// SPDX-License-Identifier: BSD-3-Clause
// predict.hpp - predicted time of a call with one algorithm on a machine.
//
// Idea     The programs of a few ranks give the time of a single call (sampled_ranks.hpp). Where
//          ranks share processors, the work of all ranks is added (shared_work.hpp), and a call
//          in a stream of calls may take less than a single one.
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
using ProgramOf = std::function<base::Result<Program>(Rank)>;

/// An algorithm with its parameters, as a generator of programs for one team.
struct Candidate {
    std::string algorithm;
    bool ordered = false;        ///< combines in rank order
    bool bit_identical = false;  ///< all ranks get the same bits
    ProgramOf program;
    /// Returns the number of calls between nodes that have put targets at a time. May be empty.
    std::function<std::uint32_t()> banks = {};
};

struct Predicted {
    Time time = 0;               ///< of a single call
    Time in_stream = 0;          ///< of each call in a stream of overlapping calls
    std::uint64_t messages = 0;  ///< of the ranks whose programs were read
    bool in_place = false;       ///< ranks read or write buffers of local peers in place
    bool lands = false;          ///< ranks put directly into buffers on other nodes
};

/// Returns the full prediction.
[[nodiscard]] base::Result<Predicted> predict(const Machine& machine, Rank size,
                                              const Candidate& candidate, const VectorSize& vector);

}  // namespace weft::plan
