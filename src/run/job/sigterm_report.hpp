// SPDX-License-Identifier: BSD-3-Clause
// sigterm_report.hpp - report of a rank that receives SIGTERM, and detection of ranks that end
// during start-up (docs/decisions/0023-sigterm-report.md).
//
// Why      A launcher may discard the output of ranks that it ends (mpirun of Open MPI 5 does), so
//          the lines are also written to the log file.
// Holds    The handler replaces only the default action, and is removed with the last runtime. Each
//          line is one write, so lines of ranks never mix. The handler's data is the only
//          process-wide state in the library.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "link/bootstrap/rank_processes.hpp"
#include "run/execute/turn.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// State of one runtime for the handler.
class SigtermReport {
  public:
    /// If `speaks` is false, the handler does not report this runtime.
    explicit SigtermReport(bool speaks = true);
    ~SigtermReport();
    SigtermReport(const SigtermReport&) = delete;
    SigtermReport& operator=(const SigtermReport&) = delete;

    void set_rank(Rank rank) noexcept;
    /// Also writes the lines to this open file, which may be closed after the call; < 0: no file.
    void set_file(int file) noexcept;
    /// Sets the reason of a wait outside of the engine, a string literal. Null: no such wait.
    void set_stage(const char* stage) noexcept;
    /// Adds details about the wait in this stage. Empty: none.
    void set_detail(std::string_view detail) noexcept;
    /// Prints the engine's answer. Ends the process unless another runtime must still answer.
    void answer(std::string_view line);
    /// Ends the reports about this runtime.
    void retire();

    [[nodiscard]] StatusRequest& status_request() noexcept;

    struct Place;  ///< in process-wide memory

  private:
    Place* place_ = nullptr;  ///< null: no reports, or too many runtimes
    StatusRequest unheard_;
};

/// Detects ranks of this node that end while a job starts, with a thread that takes no signals. A
/// short start-up is not checked.
///
/// A launcher may end a job without naming the rank that caused it. Open MPI's often does so if a
/// rank ends before all have joined. It sends SIGTERM a second later, and kills two milliseconds
/// after that. This is too late for a check, also because other ranks end at that time. If PMIx
/// ends the wait instead, as under Slurm, it does not name the cause.
class StartWatch {
  public:
    /// `me` is this rank, by the environment of its launcher. The report must outlive this object.
    StartWatch(SigtermReport& report, Rank me);
    ~StartWatch();
    StartWatch(const StartWatch&) = delete;
    StartWatch& operator=(const StartWatch&) = delete;

    /// Returns a text about missing ranks at the last check, or an empty one.
    [[nodiscard]] std::string missing();

  private:
    void watch(const std::stop_token& stop) noexcept;

    SigtermReport& report_;
    link::RankProcesses node_;
    std::mutex mutex_;  ///< for the members below, and for the thread's sleep
    std::string missing_;
    std::condition_variable_any sleep_;
    std::jthread thread_;
};

}  // namespace weft::run
