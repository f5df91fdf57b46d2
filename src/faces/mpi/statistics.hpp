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

#define WEFT_MPI_KINDS(each)                                                              \
    each(barrier) each(broadcast) each(allreduce) each(reduce) each(gather) each(scatter) \
        each(allgather) each(alltoall) each(reduce_scatter_block) each(scan) each(exscan) \
            each(gatherv) each(scatterv) each(allgatherv) each(alltoallv) each(alltoallw) \
                each(reduce_scatter) each(neighbor_allgather) each(neighbor_allgatherv)   \
                    each(neighbor_alltoall) each(neighbor_alltoallv) each(neighbor_alltoallw)
#define WEFT_MPI_VALUE(kind) kind,
#define WEFT_MPI_NAME(kind) std::string_view(#kind),
/// Collective calls of MPI. All forms of a call share a kind.
enum class CallKind : std::uint8_t { WEFT_MPI_KINDS(WEFT_MPI_VALUE) };
inline constexpr std::array kKindNames{WEFT_MPI_KINDS(WEFT_MPI_NAME)};
#undef WEFT_MPI_VALUE
#undef WEFT_MPI_NAME

/// Reason why a call went to the host.
enum class Why : std::uint8_t {
    served,      ///< no reason: weft served the call
    off,         ///< disabled by the environment, or the library could not start
    inter,       ///< intercommunicator
    other_jobs,  ///< a member is a spawned or connected process of another job
    no_team,     ///< too few blocking calls so far, or weft could not make another team
    type,        ///< weft does not reduce this type
    operation,   ///< the operation is unknown to weft, or not defined on this type
    arguments,   ///< arguments are erroneous: the host reports the error
    slower,      ///< the mode `auto` chose the host
};
inline constexpr std::array<std::string_view, 9> kWhyNames{
    "served", "off",       "between groups", "other jobs",     "no team",
    "type",   "operation", "arguments",      "host is quicker"};

/// Counts and times of this rank's calls.
class Statistics {
  public:
    using Time = std::chrono::steady_clock::time_point;

    [[nodiscard]] bool enabled() const { return enabled_; }
    void enable() { enabled_ = true; }

    /// Returns the start time of a call, for count(); Time() if statistics are not enabled.
    [[nodiscard]] Time begin() const {
        return enabled_ ? std::chrono::steady_clock::now() : Time();
    }
    void count(CallKind kind, Why why, std::uint64_t bytes, Time begun) {
        if (!enabled_) return;
        Row& row = rows_[static_cast<std::size_t>(kind)];
        ++row.by_why[static_cast<std::size_t>(why)];
        row.bytes += bytes;
        (why == Why::served ? row.served_ns : row.host_ns) +=
            static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begun).count());
    }

    /// Prints the sums over all ranks to standard error, on rank 0. Collective over `comm`.
    void print(MPI_Comm comm) const;

  private:
    struct Row {
        std::array<std::uint64_t, kWhyNames.size()> by_why{};
        std::uint64_t bytes = 0;  ///< contributed by this rank in calls that weft served
        std::uint64_t served_ns = 0;
        std::uint64_t host_ns = 0;
    };

    bool enabled_ = false;
    std::array<Row, kKindNames.size()> rows_{};
};

}  // namespace weft::mpi
