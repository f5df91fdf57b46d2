// SPDX-License-Identifier: BSD-3-Clause
// tune_point.hpp - which of several algorithms takes the least time for one call, measured.
//
// Idea     All are timed in turn, a batch of calls each, round after round, so that what disturbs
//          the machine for a while disturbs all of them. Those that are clearly slower are left out
//          of later rounds. It ends when the winner (of those within 2 % of each other the first)
//          has been the same for some rounds, or when the time is over.
// Holds    Every decision comes from times that are the same on all ranks.
// Next     lab/measure/measuring.hpp for how a batch is timed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "weft/weft.hpp"

namespace weft::front {

struct TuneCall {
    Collective collective = Collective::allreduce;
    std::uint64_t bytes = 0;
    Type type = Type::float64;
    Op op = Op::sum;
};

struct Contender {
    std::string algorithm;
    double predicted_us = 0;  ///< 0: not known
    std::vector<double> times_us;
    bool out = false;             ///< clearly slower than another
    std::vector<double> jobs_us;  ///< of each job that has measured it, this one's median last

    [[nodiscard]] double median_us() const;
};

struct TunedResult {
    std::vector<Contender> contenders;  ///< as given, without those that refuse the call
    std::size_t winner = 0;
    int rounds = 0;
    bool stable = false;  ///< else the time was over
    std::string wrong;    ///< an algorithm that gave a wrong result; then nothing was measured
};

/// Collective over the team. A failure is the same on all ranks.
[[nodiscard]] base::Result<TunedResult> tune_point(Team world, const TuneCall& call,
                                                   std::vector<Contender> contenders,
                                                   double seconds);

/// Who is the quickest over all jobs: by how many times as long as the quickest of the job each one
/// took in it, on (geometric) average; of equal ones the first.
[[nodiscard]] std::size_t winner_of_jobs(std::span<const Contender> contenders);

}  // namespace weft::front
