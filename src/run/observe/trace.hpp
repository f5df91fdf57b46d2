// SPDX-License-Identifier: BSD-3-Clause
// trace.hpp - one timeline of all ranks of a job (WEFT_TRACE).
//
// Idea     Ranks send their recorded events to rank 0, which writes one file. It has a process for
//          each rank, a thread for its calls, and one for each lane with concurrent steps. Arrows
//          lead from the step that raised a flag to the wait that it ended.
// Holds    All times are of rank 0's clock (clocks.hpp).
// Next     base/trace_events.hpp for the format; docs/guide/observing.md for readers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "run/observe/clocks.hpp"
#include "run/observe/recorder.hpp"

namespace weft::run {

/// Limit of events of all ranks together, which rank 0 must hold.
inline constexpr std::uint64_t kTraceEventsOfJob = std::uint64_t{1} << 21;

/// Returns the recorded events of a rank as bytes for write_trace().
[[nodiscard]] std::string packed_trace(const Recorder& recorder);

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
