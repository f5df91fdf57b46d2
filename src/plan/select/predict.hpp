// SPDX-License-Identifier: BSD-3-Clause
// predict.hpp - how long a call by some algorithm would take on a machine.
//
// Idea     Where each rank has a processor, the simulator's time. Where ranks share processors, the
//          time of the waits alone (each with its turns), and on top of it the larger of two: what
//          the longest chain of ranks computes, and what all ranks compute, divided by the
//          processors. Algorithms with stages are simulated by stages where all puts go one way,
//          whatever the number of ranks; of others the programs, and above so many ranks the growth
//          from size to size is continued. Where ranks do the same at the same distances (rings,
//          disseminations, direct exchanges; on nodes of equally many ranks those of one node stand
//          for all), only the ranks of one node are simulated, or a single one.
//          Where ranks share processors and calls do not synchronize, a stream of them overlaps: a
//          rank waits once for several calls, and each adds what all ranks compute, between nodes
//          at least what the busiest processor does, and what ranks wait in a second call in a row:
//          for answers of each other. On one node that goes for short vectors.
// Holds    Whole numbers only. Up to kPredictedRanks ranks the time is that of the programs that
//          run, within 5 %: folded, all blocks of a vector count as equally large.
// Next     select.hpp.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "plan/schedule/stages.hpp"
#include "plan/select/machine.hpp"
#include "plan/simulate/image.hpp"

namespace weft::plan {

/// An algorithm with its parameters, as something that can be asked for programs.
struct Candidate {
    std::string algorithm;
    bool ordered = false;        ///< combines in rank order
    bool bit_identical = false;  ///< all ranks get the same bits
    /// Fails where the algorithm has no stages.
    std::function<base::Result<Stages>(Rank size)> stages;
    /// Of one rank of a team of such a size; fails where the algorithm does not fit the size.
    std::function<base::Result<Program>(Rank size, Rank rank)> program;
    /// The first rank that does the same at the same distances; the rank
    /// itself if none is known. Empty: none is.
    std::function<Rank(Rank size, Rank rank)> same_as = {};
    /// Elements of the vector in a team of such a size. Empty: the same in all.
    std::function<std::uint64_t(Rank size)> elements = {};
    /// Between nodes: calls that have put targets at a time.
    std::function<std::uint32_t(Rank size)> banks = {};
};

/// Programs of more ranks than that are not made to predict a time.
inline constexpr Rank kPredictedRanks = 4096;

struct Predicted {
    Time time = 0;               ///< of one call
    std::uint64_t messages = 0;  ///< of all ranks, of the largest team that was looked at
    Time in_stream = 0;          ///< what each of many calls in a row takes, where they overlap
    bool in_place = false;       ///< ranks read or write memory of node-mates where it lies,
    bool lands = false;          ///< or put into vectors of ranks on other nodes
};

/// A rank, and how far what it waits for is followed back to other ranks.
struct ChainEnd {
    Rank rank = 0;
    int hops_max = 4;
    Time enough = std::numeric_limits<Time>::max();  ///< no further, once it takes longer
    /// Each time by the message whose sender has most to do before it, of few; else by the last.
    bool compares = false;

    friend bool operator==(const ChainEnd&, const ChainEnd&) = default;
};
struct LeastTime {
    Time time = 0;
    bool whole = false;  ///< followed to the end: more hops find no more
};
/// What Predicted::in_stream cannot be below but for the rounding of blocks, found quickly: what
/// a rank computes and waits for, looking at few other ranks.
[[nodiscard]] base::Result<LeastTime> least_time(const Machine& machine, Rank size,
                                                 const Candidate& candidate,
                                                 const VectorSize& vector, const ChainEnd& end);

/// Whether a prediction takes little time, as few ranks stand for all.
[[nodiscard]] bool is_quickly_predicted(const Machine& machine, Rank size,
                                        const Candidate& candidate, const VectorSize& vector);

/// A call that takes longer than that is of no interest: what is said of it may be too little, but
/// not below.
struct Interest {
    Time most = std::numeric_limits<Time>::max();
    bool exact = false;  ///< by the programs of all ranks: none stands for others
};
[[nodiscard]] base::Result<Predicted> predict(const Machine& machine, Rank size,
                                              const Candidate& candidate, const VectorSize& vector,
                                              Interest interest = {});

}  // namespace weft::plan
