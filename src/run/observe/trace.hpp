// SPDX-License-Identifier: BSD-3-Clause
// trace.hpp - one timeline of all ranks of a job (WEFT_TRACE).
//
// Idea     Ranks send their recorded events to rank 0, which writes one file. It has a process for
//          each rank, a thread for its calls, and one for each lane with concurrent steps. Arrows
//          lead from the step that raised a flag to the wait that it ended.
// Holds    All times are of rank 0's clock. Ranks of one host read one clock. Clocks of several
//          hosts differ, and drift by tens of microseconds per second. So the job compares them at
//          its start and at its end.
// Next     base/trace_events.hpp for the format; docs/guide/observing.md for readers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "run/observe/recorder.hpp"

namespace weft::run {

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

}  // namespace weft::run
