// SPDX-License-Identifier: BSD-3-Clause
// reports.hpp - reports at the end of a job about its calls: tables (WEFT_STATS), trace
// (WEFT_TRACE).
//
// Idea     Ranks send their counts and recorded events to rank 0, which prints the tables and
//          writes the trace. In the trace, an arrow leads from the step that raised a flag to the
//          wait for the flag.
// Holds    A job without reports has no recorder. All times are converted to rank 0's clock. Clocks
//          of hosts drift by tens of us per second, so they are compared at start and end.
// Next     docs/guide/observing.md for the meaning of the reports.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "run/observe/recorder.hpp"

namespace weft::run {

/// Column of the table about memory of local peers: a heading of two lines, and this rank's count.
struct MemoryCount {
    std::array<const char*, 2> head;
    std::uint64_t count = 0;
};

/// Returns this rank's counts as a text for tables_of().
[[nodiscard]] std::string packed_counts(const Recorder& recorder, const MappedBytes& moved,
                                        std::span<const MemoryCount> memory);
/// Returns the tables. `ranks` has packed_counts() of each rank, `memory` the headings.
[[nodiscard]] std::vector<std::string> tables_of(const std::vector<std::string>& ranks,
                                                 std::span<const MemoryCount> memory);

/// Largest number of events of all ranks together: rank 0 holds them in memory.
inline constexpr std::uint64_t kTraceEventsOfJob = std::uint64_t{1} << 21;

/// Returns the recorded events of a rank as bytes for write_trace().
[[nodiscard]] std::string packed_trace(const Recorder& recorder);

/// Offsets between the clocks of a job's ranks. Rank 0 reads its clock, broadcasts a token, and
/// gathers the times when the token arrived, by each rank's clock. The token arrived between the
/// start of the broadcast and the end of the gather; half of this interval limits the error.
struct ClockOffsets {
    std::uint64_t at_ns = 0;  ///< time of the comparison by rank 0's clock
    /// For each rank: its clock minus rank 0's clock. Empty on ranks other than 0.
    std::vector<std::int64_t> ahead_ns = {};
    std::uint64_t error_ns = 0;  ///< limit for the error of each offset
};

/// A broadcast and gather: begin and end by rank 0's clock, arrivals by each rank's clock.
struct ClockRound {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<std::uint64_t> arrived_ns;
};
/// Computes the offsets from the shortest round.
[[nodiscard]] ClockOffsets offsets_of(const std::vector<ClockRound>& rounds);
/// Returns the offset of a rank's clock at time_ns of this clock, interpolated between `first` and
/// `last`.
[[nodiscard]] std::int64_t ahead_at(const ClockOffsets& first, const ClockOffsets& last,
                                    std::size_t rank, std::uint64_t time_ns);

/// Broadcasts a token. Returns its arrival by each rank's clock, on rank 0 only. Collective.
using GatherArrivals = std::function<base::Result<std::vector<std::uint64_t>>()>;

/// Compares the clocks of all ranks. Collective.
[[nodiscard]] base::Result<ClockOffsets> compare_clocks(const GatherArrivals& gather_arrivals);

/// Facts about the job for its trace.
struct TraceContext {
    std::vector<int> nodes;              ///< number of each rank's node
    int hosts = 1;                       ///< number of hosts, each with its own clock
    std::array<ClockOffsets, 2> clocks;  ///< before and after the traced calls
};
/// Writes the trace to a new file in a folder, which is created if missing. `ranks` has
/// packed_trace() of each rank. Returns a line for the user with the path.
[[nodiscard]] base::Result<std::string> write_trace(const std::string& folder,
                                                    const std::vector<std::string>& ranks,
                                                    const TraceContext& context);

/// Collective functions of the job, by which ranks exchange data for reports.
struct JobExchange {
    Rank rank = 0;
    /// Returns the texts of all ranks on rank 0, and an empty list on other ranks.
    std::function<base::Result<std::vector<std::string>>(const std::string& mine)> gather_texts;
    GatherArrivals gather_arrivals;
};

class Reports {
  public:
    Reports(const base::Settings& settings, const base::Log& log, Rank ranks);

    /// Returns the recorder of this rank's calls, or nullptr without reports.
    [[nodiscard]] Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
    /// Compares the clocks if a trace is requested. Collective.
    [[nodiscard]] base::Result<void> begin(const JobExchange& job);
    /// Writes the reports. The caller need not set `context.clocks`. Collective.
    [[nodiscard]] base::Result<void> write(const JobExchange& job, const MappedBytes& moved,
                                           std::span<const MemoryCount> memory,
                                           TraceContext context);

  private:
    [[nodiscard]] base::Result<void> print_tables(const JobExchange& job, const MappedBytes& moved,
                                                  std::span<const MemoryCount> memory);
    [[nodiscard]] base::Result<void> write_trace(const JobExchange& job, TraceContext context);

    const base::Settings& settings_;
    const base::Log& log_;
    std::optional<Recorder> recorder_;    ///< empty: no reports
    std::optional<ClockOffsets> clocks_;  ///< offsets at start-up; empty: no trace
};

}  // namespace weft::run
