// SPDX-License-Identifier: BSD-3-Clause
// tune.hpp - parts of `weft tune`: options, measurement of a point, and tuning for MPI programs.
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
    std::string launcher;      ///< empty: the launchers of all MPIs that are installed
    double seconds = 2;        ///< largest time for each size
    double total_seconds = 0;  ///< 0: no limit
    double within = 4;         ///< largest ratio of a candidate's predicted time to the best
    int candidates = 8;        ///< largest number of candidates for each size
    int jobs = 3;              ///< jobs that measure each size
    bool exhaustive = false;
    bool again = false;
    bool mpi = false;
};

/// Measures which library is faster in MPI programs (--mpi); returns the exit status. Jobs of
/// peer_openmpi or peer_mpich call MPI's collectives with weft's layer preloaded. Jobs in which the
/// layer passes all calls to the MPI library alternate with jobs in which weft serves them. The
/// medians give ranges of sizes, which the layer reads with WEFT_MPI=auto
/// (src/faces/mpi/choices.hpp). Without --again, collectives are not measured if the file already
/// has them for this MPI and number of ranks.
[[nodiscard]] int tune_mpi(const TuneArguments& arguments,
                           const std::vector<std::string>& collectives);

struct TuneCall {
    Collective collective = Collective::allreduce;
    std::uint64_t bytes = 0;
    Type type = Type::float64;
    Op op = Op::sum;
};

/// An algorithm, and its times in a call.
struct Contender {
    std::string algorithm;
    double predicted_us = 0;       ///< 0: unknown
    std::vector<double> times_us;  ///< time per call of each batch of this job
    bool dropped = false;          ///< clearly slower than another; not measured further
    std::vector<double> jobs_us;   ///< median of each job that measured it; this job's is last

    [[nodiscard]] double median_us() const;
};

struct TunedResult {
    std::vector<Contender> contenders;  ///< as given, without algorithms that refuse the call
    std::size_t winner = 0;             ///< index of the fastest contender in this job
    int rounds = 0;
    bool stable = false;  ///< false: the time was over before the winner was stable
    std::string wrong;    ///< algorithm with a wrong result; if not empty, nothing was measured
};

/// Measures which contender is fastest for a call. Batches of all contenders alternate, so that
/// disturbances affect all. Later rounds leave out contenders that are clearly slower. Rounds
/// end when the winner (the first contender within 2 % of the best) has not changed for some time,
/// or after `seconds`. Collective: all ranks decide from equal times.
[[nodiscard]] base::Result<TunedResult> tune_point(Team world, const TuneCall& call,
                                                   std::vector<Contender> contenders,
                                                   double seconds);

/// Returns the index of the fastest contender over all jobs: the first whose geometric mean of
/// (time / best time of the job) is within 4 % of the minimum.
[[nodiscard]] std::size_t winner_of_jobs(std::span<const Contender> contenders);

}  // namespace weft::tools
