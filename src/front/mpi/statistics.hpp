// SPDX-License-Identifier: BSD-3-Clause
// statistics.hpp - which collective calls there are, what became of each, and the table of that.
//
// Next     layer.hpp for who counts; WEFT_MPI_STATS in docs/guide/mpi-backing.md.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace weft::mpi {

/// The collective calls of MPI; those that are started share the number of the blocking ones.
enum class Kind : std::uint8_t {
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

/// Why a call went to the host.
enum class Why : std::uint8_t {
    served,      ///< it did not
    off,         ///< by the environment, or because the library could not start
    one_rank,    ///< the host does that at once
    inter,       ///< between two groups
    other_jobs,  ///< a member is a process of another job: spawned, or connected
    no_team,  ///< the communicator has none: its first call was a started one, or no place is free
    type,     ///< no reduction of ours on this type
    operation,  ///< none by this operation, or by this one on this type
    arguments,  ///< the host says what is wrong with them
    threads,    ///< the host cannot wait for our requests under MPI_THREAD_MULTIPLE
    slower,     ///< the host is quicker at this, by the rules of `auto`
};
inline constexpr std::array<std::string_view, 11> kWhyNames{
    "served", "off",       "one rank",  "between groups", "other jobs",     "no team",
    "type",   "operation", "arguments", "threads",        "host is quicker"};

class Statistics {
  public:
    [[nodiscard]] bool wanted() const { return wanted_; }
    void want() { wanted_ = true; }

    void count(Kind kind, Why why, std::uint64_t bytes, std::uint64_t ns) {
        Row& row = rows_[static_cast<std::size_t>(kind)];
        ++row.by_why[static_cast<std::size_t>(why)];
        row.bytes += bytes;
        if (why == Why::served) row.served_ns += ns;
        if (why != Why::served) row.host_ns += ns;
    }

    /// Collective over the communicator: rank 0 prints the sums over all ranks to standard error.
    void print(MPI_Comm comm) const;

  private:
    struct Row {
        std::array<std::uint64_t, kWhyNames.size()> by_why{};
        std::uint64_t bytes = 0;  ///< that this rank gave, of calls that were served
        std::uint64_t served_ns = 0;
        std::uint64_t host_ns = 0;
    };
    static constexpr std::size_t kWords = sizeof(Row) / sizeof(std::uint64_t);

    bool wanted_ = false;
    std::array<Row, kKindNames.size()> rows_{};
};

}  // namespace weft::mpi
