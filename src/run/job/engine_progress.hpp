// SPDX-License-Identifier: BSD-3-Clause
// engine_progress.hpp - drives the engine for callers that do not wait.
//
// Idea     The application calls drive(). A thread (WEFT_PROGRESS) may drive between its calls.
//          Waits drive the engine themselves.
// Holds    After close(), drive() has no effect.
// Next     run/execute/progress_thread.hpp, run/execute/turn.hpp.
#pragma once

#include <atomic>
#include <memory>

#include "run/execute/turn.hpp"
#include "run/job/job.hpp"

namespace weft::run {

class RealEngine;
class RealProgressThread;

class EngineProgress {
  public:
    EngineProgress(const Job& job, RealEngine& engine);
    ~EngineProgress();
    EngineProgress(const EngineProgress&) = delete;
    EngineProgress& operator=(const EngineProgress&) = delete;

    /// Drives everything once.
    void drive();
    /// Drives everything in some calls only, for calls that need no progress.
    void drive_now_and_then() {
        constexpr unsigned kDriveEvery = 32;
        if (!is_asked()) return;
        // Concurrent threads may lose some counts.
        const unsigned calls = calls_.load(std::memory_order_relaxed) + 1;
        calls_.store(calls, std::memory_order_relaxed);
        if (calls % kDriveEvery == 0) drive();
    }
    /// Returns true if peers may send requests. Then even a rank that only loads and stores must
    /// drive the engine from time to time.
    [[nodiscard]] bool is_asked() const { return is_asked_.load(std::memory_order_relaxed); }
    /// Tells that peers may send requests from now on.
    void expect_requests() { is_asked_.store(true, std::memory_order_relaxed); }

    /// Makes waits call the function, and not sleep. nullptr ends that.
    void set_external(void (*function)(void* argument), void* argument);

    /// Starts the thread. The engine must be shared.
    void start_thread();
    /// Wakes the thread, because a call was started whose caller does not wait.
    void wake_thread();
    /// Ends the thread.
    void close();

  private:
    const Job& job_;
    RealEngine& engine_;
    ExternalProgress& external_;  ///< owned by the engine
    std::atomic<bool> is_asked_;
    std::atomic<unsigned> calls_{0};
    bool closed_ = false;
    std::unique_ptr<RealProgressThread> thread_;
};

}  // namespace weft::run
