// SPDX-License-Identifier: BSD-3-Clause
// start_watch.hpp - detects ranks of this node that end while a job starts.
//
// Why      A launcher may end a job without naming the rank that caused it. Open MPI's often does
//          so if a rank ends before all have joined. It sends SIGTERM a second later, and kills two
//          milliseconds after that. This is too late for a check, also because other ranks end at
//          that time. So a thread checks earlier.
//          If PMIx ends the wait instead, as under Slurm, it does not name the cause.
// Holds    A short start-up is not checked. The thread takes no signals.
// Next     link/bootstrap/rank_processes.hpp for the check, sigterm_report.hpp for the report.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "link/bootstrap/rank_processes.hpp"
#include "run/runtime/sigterm_report.hpp"

namespace weft::run {

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
