// SPDX-License-Identifier: BSD-3-Clause
// tune.hpp - parts of `weft tune`: its options, the measurement of one point, and measurements for
// MPI programs.
//
// Next     tools/measure/measuring.hpp for the timing of a batch; plan/select/tuning.hpp for
//          ranges; run/job/measured_files.hpp for the file's use in jobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/select/tuning.hpp"
#include "tools/cli/command.hpp"
#include "weft/weft.hpp"

namespace weft::tools {

struct TuneArguments {
    std::vector<std::string> collectives;
    std::string output;
    std::string bytes = "8,64,512,4K,32K,256K,1M";
    std::string type = "double";
    std::string op = "sum";
    std::string ranks;
    std::vector<std::string> layouts;
    std::string launcher;  ///< empty: the launchers of all MPIs that are installed
    double seconds = 2;
    double total_seconds = 0;
    double within = 4;
    int candidates = 8;
    int jobs = 3;
    bool exhaustive = false;
    bool again = false;
    bool mpi = false;
};

/// Measures which library is faster in MPI programs (--mpi); returns the exit status. Jobs of
/// peer_openmpi or peer_mpich call MPI's collectives with weft's layer. Jobs in which the MPI
/// library serves all calls alternate with jobs in which weft does. The medians give ranges of
/// sizes, which the layer reads with WEFT_MPI=auto (src/faces/mpi/choices.hpp). Collectives that
/// the file has for an MPI and a number of ranks are not measured again unless requested.
[[nodiscard]] int tune_mpi(const TuneArguments& arguments,
                           const std::vector<std::string>& collectives);

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

/// Finds by measurement which algorithm is fastest for a call. Batches of all algorithms alternate,
/// round after round, so that disturbances affect all of them. Clearly slower ones are left out of
/// later rounds. It ends when the winner (the first of those within 2 % of each other) has not
/// changed for some rounds, or when the time is over. Collective over the team: decisions and
/// failures come from times that are equal on all ranks.
[[nodiscard]] base::Result<TunedResult> tune_point(Team world, const TuneCall& call,
                                                   std::vector<Contender> contenders,
                                                   double seconds);

/// Returns the fastest contender over all jobs: the minimum of the geometric mean of its time
/// relative to the fastest of each job. Of equal ones, returns the first.
[[nodiscard]] std::size_t winner_of_jobs(std::span<const Contender> contenders);

}  // namespace weft::tools
