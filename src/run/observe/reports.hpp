// SPDX-License-Identifier: BSD-3-Clause
// reports.hpp - reports about the calls of a job, at its end: tables (WEFT_STATS), trace
// (WEFT_TRACE).
//
// Idea     Each rank has a recorder, which the engine feeds. At the end of the job, rank 0 gathers
//          the records of all ranks, and writes both reports.
// Holds    A job without reports has no recorder.
// Next     recorder.hpp for the records; call_tables.hpp, statistics.hpp and trace.hpp for the
//          reports.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "run/observe/recorder.hpp"
#include "run/observe/statistics.hpp"
#include "run/observe/trace.hpp"

namespace weft::run {

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
                                           const Statistics& statistics, TraceAbout about);

  private:
    [[nodiscard]] base::Result<void> print_tables(const JobExchange& job, const MappedBytes& moved,
                                                  const Statistics& statistics);
    [[nodiscard]] base::Result<void> write_trace(const JobExchange& job, TraceAbout about);

    const base::Settings& settings_;
    const base::Log& log_;
    std::optional<Recorder> recorder_;
    std::optional<ClockOffsets> clocks_;  ///< at start-up, if a trace is requested
};

}  // namespace weft::run
