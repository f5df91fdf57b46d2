// SPDX-License-Identifier: BSD-3-Clause
// trace.hpp - one picture of what all ranks of a job did when (WEFT_TRACE).
//
// Idea     Ranks hand what their recorders have kept to rank 0, which writes one file: a process
//          for each rank, a thread for its calls, and one for each lane whose steps run at the same
//          time; an arrow from what raised a flag to the wait that it ended.
// Holds    All times are those of rank 0's clock (clocks.hpp).
// Next     base/trace_events.hpp for the format; docs/guide/observing.md for readers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "run/execute/recorder.hpp"
#include "run/runtime/clocks.hpp"

namespace weft::run {

/// More events of all ranks together are not kept: rank 0 must hold them.
inline constexpr std::uint64_t kTraceEventsOfJob = std::uint64_t{1} << 21;

/// What a rank's recorder has kept, as bytes for write_trace().
[[nodiscard]] std::string packed_trace(const Recorder& recorder);

struct TraceAbout {
    std::vector<int> nodes;  ///< by rank
    int hosts = 1;
    std::array<ClockOffsets, 2> clocks;  ///< before and after what is traced
};
/// Writes the file to a folder, which is made if it is not there; `ranks`: bytes of packed_trace().
/// Returns a line for the user.
[[nodiscard]] base::Result<std::string> write_trace(const std::string& folder,
                                                    const std::vector<std::string>& ranks,
                                                    const TraceAbout& about);

}  // namespace weft::run
