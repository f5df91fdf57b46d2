// SPDX-License-Identifier: BSD-3-Clause
// reports.hpp - reports about the calls of a job, at its end: tables (WEFT_STATS), trace
// (WEFT_TRACE).
//
// Idea     Ranks send their counts and recorded events to rank 0, which prints the tables and
//          writes one trace. Arrows lead from the step that raised a flag to the wait that it ends.
// Holds    A job without reports has no recorder. All times are of rank 0's clock. Clocks of
//          several hosts differ, and drift by tens of microseconds per second. So the job compares
//          them at its start and at its end.
// Next     recorder.hpp for the records; run/job/describe.hpp for the counts of memory;
//          docs/guide/observing.md for readers.
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

/// A column of the table about memory of local peers: two lines of its head, and a rank's count.
struct MemoryCount {
    std::array<const char*, 2> head;
    std::uint64_t count = 0;
};

/// Returns the counts of this rank as text for tables_of().
[[nodiscard]] std::string packed_counts(const Recorder& recorder, const MappedBytes& moved,
                                        std::span<const MemoryCount> memory);
/// Returns the lines of the tables, from the texts of all ranks. `memory` has the heads.
[[nodiscard]] std::vector<std::string> tables_of(const std::vector<std::string>& ranks,
                                                 std::span<const MemoryCount> memory);

/// Limit of events of all ranks together, which rank 0 must hold.
inline constexpr std::uint64_t kTraceEventsOfJob = std::uint64_t{1} << 21;

/// Returns the recorded events of a rank as bytes for write_trace().
[[nodiscard]] std::string packed_trace(const Recorder& recorder);

/// Offsets between the clocks of a job's ranks. Rank 0 reads its clock, broadcasts, and gathers the
/// arrival time by each rank's clock. The arrival is between the broadcast's begin and the gather's
/// end, so the offset is known up to half of that time.
struct ClockOffsets {
    std::uint64_t at_ns = 0;                  ///< by rank 0's clock
    std::vector<std::int64_t> ahead_ns = {};  ///< by rank: its clock minus rank 0's; on rank 0
    std::uint64_t error_ns = 0;               ///< limit of the error of each offset
};

/// One round: begin and end on rank 0, and the arrival time by each rank's clock.
struct ClockRound {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<std::uint64_t> seen_ns;
};
/// Returns the offsets from the shortest round.
[[nodiscard]] ClockOffsets offsets_of(const std::vector<ClockRound>& rounds);
/// Returns the offset to subtract from a time of a rank, interpolated between two comparisons.
[[nodiscard]] std::int64_t ahead_at(const ClockOffsets& first, const ClockOffsets& last,
                                    std::size_t rank, std::uint64_t time_ns);

/// Broadcasts from rank 0. Returns the arrival time by each rank's clock on rank 0, and nothing on
/// others. Collective.
using GatherArrivals = std::function<base::Result<std::vector<std::uint64_t>>()>;

/// Compares the clocks of all ranks. Collective.
[[nodiscard]] base::Result<ClockOffsets> compare_clocks(const GatherArrivals& gather_arrivals);

struct TraceAbout {
    std::vector<int> nodes;  ///< by rank
    int hosts = 1;
    std::array<ClockOffsets, 2> clocks;  ///< before and after the traced calls
};
/// Writes the file to a folder, which is created if missing. `ranks` has the bytes of
/// packed_trace(). Returns a line for the user.
[[nodiscard]] base::Result<std::string> write_trace(const std::string& folder,
                                                    const std::vector<std::string>& ranks,
                                                    const TraceAbout& about);

/// Exchanges among all ranks of a job. All ranks make the same ones.
struct JobExchange {
    Rank rank = 0;
    /// Returns the texts of all ranks on rank 0, and nothing on others.
    std::function<base::Result<std::vector<std::string>>(const std::string& mine)> gather_texts;
    GatherArrivals gather_arrivals;
};

class Reports {
  public:
    Reports(const base::Settings& settings, const base::Log& log, Rank ranks);

    /// Returns the recorder of this rank's calls, or nullptr without reports.
    [[nodiscard]] Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
    /// Compares the clocks if there will be a trace. Collective.
    [[nodiscard]] base::Result<void> begin(const JobExchange& job);
    /// Writes the reports. Sets the clocks of `about`. Collective.
    [[nodiscard]] base::Result<void> write(const JobExchange& job, const MappedBytes& moved,
                                           std::span<const MemoryCount> memory, TraceAbout about);

  private:
    [[nodiscard]] base::Result<void> print_tables(const JobExchange& job, const MappedBytes& moved,
                                                  std::span<const MemoryCount> memory);
    [[nodiscard]] base::Result<void> write_trace(const JobExchange& job, TraceAbout about);

    const base::Settings& settings_;
    const base::Log& log_;
    std::optional<Recorder> recorder_;
    std::optional<ClockOffsets> clocks_;  ///< at start-up, if a trace is requested
};

}  // namespace weft::run
