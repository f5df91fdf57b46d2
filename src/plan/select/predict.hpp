// SPDX-License-Identifier: BSD-3-Clause
// predict.hpp - how long a call by some algorithm would take on a machine.
//
// Idea     Where each rank has a processor, the simulator's time. Where ranks share processors, the
//          time of the waits alone (each with its turns), and on top of it the larger of two: what
//          the longest chain of ranks computes, and what all ranks compute, divided by the
//          processors. Algorithms with stages are simulated by stages, whatever the number of
//          ranks; of others the programs of up to so many ranks, and above that the growth from
//          size to size is continued.
// Holds    Whole numbers only. The time of one prediction has a bound that does not grow with the
//          ranks.
// Next     select.hpp.
#pragma once

#include <functional>
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
    /// Elements of the vector in a team of such a size. Empty: the same in all.
    std::function<std::uint64_t(Rank size)> elements = {};
};

/// Programs of more ranks than that are not made to predict a time: of a team with one way to put,
/// and of one with two.
inline constexpr Rank kPredictedRanks = 64;
inline constexpr Rank kPredictedMixedRanks = 256;

struct Predicted {
    Time time = 0;
    std::uint64_t messages = 0;  ///< of all ranks, of the largest team that was looked at
    bool in_place = false;       ///< ranks read or write memory of node-mates where it lies
};
[[nodiscard]] base::Result<Predicted> predict(const Machine& machine, Rank size,
                                              const Candidate& candidate, const VectorSize& vector);

}  // namespace weft::plan
