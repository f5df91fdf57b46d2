// SPDX-License-Identifier: BSD-3-Clause
// sigterm_report.hpp - report of a rank's state when it receives SIGTERM, and detection of ranks
// that end during start-up (docs/decisions/0023-sigterm-report.md).
//
// Why      A launcher may discard the output of ranks that it ends (mpirun of Open MPI 5 does), so
//          the lines are also written to the log file.
// Holds    The handler is installed only over the default action, and removed with the last
//          runtime. Each line is one write, so lines of different ranks never mix. All runtimes of
//          the process share the handler and its data.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/environment.hpp"
#include "link/bootstrap/rank_processes.hpp"
#include "run/execute/turn.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// State of one runtime that the handler reads.
class SigtermReport {
  public:
    /// If `enabled` is false, the handler does not report this runtime.
    explicit SigtermReport(bool enabled = true);
    ~SigtermReport();

    void set_rank(Rank rank) noexcept;
    /// Also writes the lines to a duplicate of this descriptor; negative: to no file.
    void set_file(int file) noexcept;
    /// Sets the reason of a wait outside of the engine, as a string literal. Null: no wait.
    void set_stage(const char* stage) noexcept;
    /// Returns the reason of a wait outside of the engine; null: no wait.
    [[nodiscard]] const char* stage() const noexcept;
    /// Sets details that the report adds to the stage. Empty: none.
    void set_detail(std::string_view detail) noexcept;
    /// Prints the engine's answer. Ends the process unless another runtime must still answer.
    void answer(std::string_view line);
    /// Makes the handler ignore this runtime.
    void retire();

    /// Returns the object by which the handler requests an answer from the engine.
    [[nodiscard]] StatusRequest& status_request() noexcept;

    struct Entry;  ///< data of a runtime in process-wide memory

  private:
    Entry* entry_ = nullptr;
    std::unique_ptr<Entry> unread_;  ///< if not enabled, or with too many runtimes
};

/// Watches the start of a job, with a thread that blocks signals: detects ranks of this node that
/// end, and reports long waits.
///
/// A launcher may end a job without naming the rank that caused it. mpirun of Open MPI often does
/// so if a rank ends before all have joined, and sends SIGKILL so soon after SIGTERM that the
/// handler has no time to check ranks. Under Slurm, PMIx ends the wait, without the cause.
class StartWatch {
  public:
    /// `report` and `settings` must outlive this object. `rank`: from the launcher's environment.
    StartWatch(SigtermReport& report, Rank rank, const base::Settings& settings);
    ~StartWatch();

    /// Returns a text about the ranks that had ended at the last check; empty if there were none.
    [[nodiscard]] std::string missing();

  private:
    void watch(const std::stop_token& stop) noexcept;
    void report_wait(std::chrono::nanoseconds waited) const;

    SigtermReport& report_;
    const Rank rank_;
    const base::Settings& settings_;
    link::RankProcesses node_;
    std::mutex mutex_;  ///< protects missing_; also used by sleep_
    std::string missing_;
    std::condition_variable_any sleep_;  ///< never notified: the stop of thread_ ends its wait
    std::jthread thread_;
};

}  // namespace weft::run
