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

struct RankReport {
    std::vector<std::string> cells;     ///< the rank's row in the table of ranks
    std::vector<std::uint64_t> memory;  ///< by MemoryCount
    std::vector<CallSums> sums;
    std::vector<std::string> names;     ///< Recorder::names()
    std::vector<RecordedEvent> events;  ///< in the order of their ends
    std::uint64_t lost = 0;             ///< number of events that the recorder dropped
};
/// Returns this rank's report as bytes, which unpacked_report() reads.
[[nodiscard]] std::string packed_report(const Recorder& recorder, const MappedBytes& moved,
                                        std::span<const MemoryCount> memory);
/// Returns nothing if the bytes are invalid.
[[nodiscard]] std::optional<RankReport> unpacked_report(const std::string& packed);

/// Checks `words`, the length of the longest text of a rank. Fails if this rank's text is longer,
/// or if texts of that length from all ranks exceed 4 GiB.
[[nodiscard]] base::Result<void> check_longest(std::uint64_t words, std::uint64_t mine, Rank ranks);

/// Largest number of events of all ranks together: rank 0 holds them in memory.
inline constexpr std::uint64_t kTraceEventsOfJob = std::uint64_t{1} << 21;

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
/// Returns the offset of a rank's clock at time_ns of this clock, interpolated.
[[nodiscard]] std::int64_t ahead_at(const ClockOffsets& first, const ClockOffsets& last,
                                    std::size_t rank, std::uint64_t time_ns);

struct TraceContext {
    std::vector<int> nodes;              ///< number of each rank's node
    int hosts = 1;                       ///< number of hosts, each with its own clock
    std::array<ClockOffsets, 2> clocks;  ///< before and after the traced calls
};
/// Writes the trace to a new file in a folder, which may be missing. Returns a line with its path.
[[nodiscard]] base::Result<std::string> write_trace(const std::string& folder,
                                                    std::vector<RankReport> ranks,
                                                    const TraceContext& context);

/// Returns a recorder for this rank's calls if a report needs one.
[[nodiscard]] std::optional<Recorder> recorder_for(const base::Settings& settings, Rank ranks);
/// Prints the tables and writes the trace. `packed`: packed_report() of each rank.
[[nodiscard]] base::Result<void> write_reports(const std::vector<std::string>& packed,
                                               std::span<const MemoryCount> memory,
                                               const TraceContext& context,
                                               const base::Settings& settings,
                                               const base::Log& log);

}  // namespace weft::run
