// SPDX-License-Identifier: BSD-3-Clause
// statistics.hpp - counts the collective calls of each kind by the library that served them.
//
// Next     layer.hpp for counting; WEFT_MPI_STATS in docs/guide/mpi-backing.md.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace weft::mpi {

/// Collective calls of MPI. Started and blocking calls share a kind.
enum class CallKind : std::uint8_t {
    barrier,
    broadcast,
    allreduce,
    reduce,
    gather,
    scatter,
    allgather,
    alltoall,
    reduce_scatter_block,
    scan,
    exscan,
    gatherv,
    scatterv,
    allgatherv,
    alltoallv,
    alltoallw,
    reduce_scatter,
};
inline constexpr std::array<std::string_view, 17> kKindNames{
    "barrier",   "broadcast",     "allreduce",
    "reduce",    "gather",        "scatter",
    "allgather", "alltoall",      "reduce_scatter_block",
    "scan",      "exscan",        "gatherv",
    "scatterv",  "allgatherv",    "alltoallv",
    "alltoallw", "reduce_scatter"};

/// Reason why a call went to the host.
enum class Why : std::uint8_t {
    served,      ///< no reason: weft served the call
    off,         ///< disabled by the environment, or the library could not start
    one_rank,    ///< the communicator has one rank
    inter,       ///< intercommunicator
    other_jobs,  ///< a member is a spawned or connected process of another job
    no_team,     ///< only started calls so far, or weft has no space for another team
    type,        ///< weft does not reduce this type
    operation,   ///< the operation is unknown to weft, or not defined on this type
    arguments,   ///< arguments are erroneous: the host reports the error
    threads,     ///< the host cannot wait for our requests under MPI_THREAD_MULTIPLE
    slower,      ///< the mode `auto` chose the host
};
inline constexpr std::array<std::string_view, 11> kWhyNames{
    "served", "off",       "one rank",  "between groups", "other jobs",     "no team",
    "type",   "operation", "arguments", "threads",        "host is quicker"};

/// Counts and times of this rank's calls.
class Statistics {
  public:
    [[nodiscard]] bool enabled() const { return enabled_; }
    void enable() { enabled_ = true; }

    void count(CallKind kind, Why why, std::uint64_t bytes, std::uint64_t ns) {
        Row& row = rows_[static_cast<std::size_t>(kind)];
        ++row.by_why[static_cast<std::size_t>(why)];
        row.bytes += bytes;
        if (why == Why::served) row.served_ns += ns;
        if (why != Why::served) row.host_ns += ns;
    }

    /// Prints the sums over all ranks to standard error, on rank 0. Collective
    /// over the communicator.
    void print(MPI_Comm comm) const;

  private:
    struct Row {
        std::array<std::uint64_t, kWhyNames.size()> by_why{};
        std::uint64_t bytes = 0;  ///< contributed by this rank in calls that weft served
        std::uint64_t served_ns = 0;
        std::uint64_t host_ns = 0;
    };
    static constexpr std::size_t kWords = sizeof(Row) / sizeof(std::uint64_t);

    bool enabled_ = false;
    std::array<Row, kKindNames.size()> rows_{};
};

/// Measures the time of a call if statistics are wanted.
class CallTimer {
  public:
    explicit CallTimer(const Statistics& statistics) {
        if (statistics.enabled()) begun_ = std::chrono::steady_clock::now();
    }
    void count(Statistics& statistics, CallKind kind, Why why, std::size_t bytes) const {
        if (!statistics.enabled()) return;
        const auto ns = std::chrono::steady_clock::now() - begun_;
        statistics.count(kind, why, bytes, static_cast<std::uint64_t>(ns.count()));
    }

  private:
    std::chrono::steady_clock::time_point begun_;
};

}  // namespace weft::mpi
