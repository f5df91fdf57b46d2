// SPDX-License-Identifier: BSD-3-Clause
// start_watch.hpp - looks, while a job starts, which ranks of this node have gone.
//
// Why      A launcher may end a job without naming the rank whose end was the cause: that of Open
//          MPI often does if a rank ends before all have joined. It sends SIGTERM a second later,
//          and kills two milliseconds after that: too late to look then, also because other ranks
//          are ended at the same time. So a thread looks before.
//          Where PMIx ends the wait instead, as under Slurm, it does not say who is the cause.
// Holds    A start that is over soon is not looked at. The thread takes no signals.
// Next     link/bootstrap/rank_processes.hpp for what is looked at, sigterm_report.hpp for who
//          prints it.
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
    /// me: this rank, by the environment of its launcher. The report must outlive this.
    StartWatch(SigtermReport& report, Rank me);
    ~StartWatch();
    StartWatch(const StartWatch&) = delete;
    StartWatch& operator=(const StartWatch&) = delete;

    /// What was seen last of ranks that have gone; empty: nothing.
    [[nodiscard]] std::string missing();

  private:
    void watch(const std::stop_token& stop) noexcept;

    SigtermReport& report_;
    link::RankProcesses node_;
    std::mutex mutex_;  ///< of what follows, and of the thread's sleep
    std::string missing_;
    std::condition_variable_any sleep_;
    std::jthread thread_;
};

}  // namespace weft::run
