// SPDX-License-Identifier: BSD-3-Clause
// tune_point.hpp - finds by measurement which of several algorithms is fastest for a call.
//
// Idea     Batches of all algorithms alternate, round after round, so that disturbances affect all
//          of them. Clearly slower ones are left out of later rounds. It ends when the winner (the
//          first of those within 2 % of each other) has not changed for some rounds, or when the
//          time is over.
// Holds    Every decision comes from times that are equal on all ranks.
// Next     tools/measure/measuring.hpp for the timing of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "weft/weft.hpp"

namespace weft::tools {

struct TuneCall {
    Collective collective = Collective::allreduce;
    std::uint64_t bytes = 0;
    Type type = Type::float64;
    Op op = Op::sum;
};

struct Contender {
    std::string algorithm;
    double predicted_us = 0;  ///< 0: unknown
    std::vector<double> times_us;
    bool out = false;             ///< clearly slower than another
    std::vector<double> jobs_us;  ///< median of each job that has measured it; this job's is last

    [[nodiscard]] double median_us() const;
};

struct TunedResult {
    std::vector<Contender> contenders;  ///< as given, without algorithms that refuse the call
    std::size_t winner = 0;
    int rounds = 0;
    bool stable = false;  ///< false: the time was over
    std::string wrong;    ///< algorithm with a wrong result; nothing was then measured
};

/// Collective over the team. A failure is equal on all ranks.
[[nodiscard]] base::Result<TunedResult> tune_point(Team world, const TuneCall& call,
                                                   std::vector<Contender> contenders,
                                                   double seconds);

/// Returns the fastest contender over all jobs: the minimum of the geometric mean of its time
/// relative to the fastest of each job. Of equal ones, returns the first.
[[nodiscard]] std::size_t winner_of_jobs(std::span<const Contender> contenders);

}  // namespace weft::tools
