// SPDX-License-Identifier: BSD-3-Clause
// predict.hpp - predicted time of a call with one algorithm on a machine.
//
// Idea     If each rank has a processor, the result is the simulated time. If ranks share
//          processors, it is the time of the waits alone, turns included, plus the larger of two
//          times: the computation along the longest chain of ranks, and the computation of all
//          ranks divided by the processors.
//
//          Algorithms with stages are simulated by stages, for any number of ranks, if all puts use
//          the same path. Other algorithms are simulated by their programs; above kPredictedRanks
//          ranks the time is extrapolated from smaller teams. Where ranks do the same at the same
//          distances, one rank or the ranks of one node are simulated.
//
//          If ranks share processors and calls do not synchronize, a stream of calls overlaps. A
//          rank then waits once for several calls. Each call adds the computation of all ranks, and
//          the waits that a second call in a row still has. Between nodes it adds at least the
//          computation of the busiest processor. On one node only short buffers overlap.
// Holds    Arithmetic is on whole numbers only. Up to kPredictedRanks ranks the time is within 5 %
//          of the simulated programs; folding treats all blocks of a buffer as equally large.
// Next     select.hpp.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "plan/schedule/stages.hpp"
#include "plan/select/machine.hpp"
#include "plan/simulate/image.hpp"

namespace weft::plan {

/// An algorithm with its parameters, as a generator of programs.
struct Candidate {
    std::string algorithm;
    bool ordered = false;        ///< combines in rank order
    bool bit_identical = false;  ///< all ranks get the same bits
    /// Returns the stages; fails if the algorithm has none.
    std::function<base::Result<Stages>(Rank size)> stages;
    /// Returns the program of one rank; fails if the algorithm does not support the team size.
    std::function<base::Result<Program>(Rank size, Rank rank)> program;
    /// Returns the first rank that does the same at the same distances, or the rank itself.
    /// May be empty.
    std::function<Rank(Rank size, Rank rank)> same_as = {};
    /// Returns the elements of the buffer in a team of `size` ranks. Empty: equal for all sizes.
    std::function<std::uint64_t(Rank size)> elements = {};
    /// Returns the number of calls between nodes that have put targets at a time.
    std::function<std::uint32_t(Rank size)> banks = {};
};

/// Largest team whose programs are generated for a prediction.
inline constexpr Rank kPredictedRanks = 4096;

struct Predicted {
    Time time = 0;               ///< of a single call
    std::uint64_t messages = 0;  ///< of all ranks, in the largest team simulated
    /// Time of each call in a stream of overlapping calls.
    Time in_stream = 0;
    bool in_place = false;  ///< ranks read or write buffers of local peers in place
    bool lands = false;     ///< ranks put directly into buffers on other nodes
};

/// End of a chain of waits, and limits for following it.
struct ChainEnd {
    Rank rank = 0;
    int hops_max = 4;
    Time enough = std::numeric_limits<Time>::max();  ///< stop once the bound exceeds this time
    /// Follow the message whose sender has most work before it, if few ranks are awaited; else
    /// follow the last message.
    bool compares = false;

    friend bool operator==(const ChainEnd&, const ChainEnd&) = default;
};
struct LeastTime {
    Time time = 0;
    bool whole = false;  ///< the chain was followed to its start; more hops add nothing
};
/// Returns a lower bound of Predicted::in_stream, except for the rounding of blocks. Looks at the
/// programs of few ranks only.
[[nodiscard]] base::Result<LeastTime> least_time(const Machine& machine, Rank size,
                                                 const Candidate& candidate,
                                                 const VectorSize& vector, const ChainEnd& end);

/// Returns true if a prediction is quick because few ranks represent all.
[[nodiscard]] bool is_quickly_predicted(const Machine& machine, Rank size,
                                        const Candidate& candidate, const VectorSize& vector);

/// Limits of interest of a caller of predict().
struct Interest {
    /// Cutoff: results above it are only lower bounds.
    Time most = std::numeric_limits<Time>::max();
    bool exact = false;  ///< simulate the programs of all ranks, without folding
};
[[nodiscard]] base::Result<Predicted> predict(const Machine& machine, Rank size,
                                              const Candidate& candidate, const VectorSize& vector,
                                              Interest interest = {});

}  // namespace weft::plan
