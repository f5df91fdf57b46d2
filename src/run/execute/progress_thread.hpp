// SPDX-License-Identifier: BSD-3-Clause
// progress_thread.hpp - drives an engine while the application computes (WEFT_PROGRESS=thread).
//
// Idea     A thread that takes the engine's turn whenever it is free, polls, and sleeps. While a
//          call waits, that call holds the turn and drives the engine itself: the thread costs it
//          one failed attempt per sleep.
// Why      Without it started calls, and requests of peers, make progress only inside the
//          application's own calls.
// Holds    Sleeps are short as long as polls move something, longer while a call is in flight that
//          does not move, and longest while there is none, so an idle rank does not take processor
//          time from others; wake() ends a sleep. The destructor ends the thread and needs the turn
//          to be free.
// Next     turn.hpp; docs/measuring.md for what it costs and gains.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "run/execute/engine.hpp"

namespace weft::run {

template <Transport Wire>
class ProgressThread {
  public:
    /// The engine must be shared (EngineOptions) and outlive this.
    explicit ProgressThread(Engine<Wire>& engine)
        : engine_(engine), thread_([this](std::stop_token stop) { drive(stop); }) {}

    /// A call was started that should not wait for the end of a long sleep.
    void wake() {
        if (!in_long_sleep_.load(std::memory_order_relaxed)) return;
        {
            const std::scoped_lock lock(sleep_mutex_);
            woken_ = true;
        }
        wake_up_.notify_one();
    }

  private:
    using Sleep = std::chrono::microseconds;
    static constexpr Sleep kSleepMin{20};
    static constexpr Sleep kSleepMaxBusy{80};
    static constexpr Sleep kSleepMax{1000};

    void drive(const std::stop_token& stop) {
        prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default would more than double short sleeps
        Sleep sleep = kSleepMin;
        std::unique_lock asleep(sleep_mutex_);
        while (!stop.stop_requested()) {
            const HelpOutcome helped = engine_.help();
            sleep =
                helped == HelpOutcome::moved
                    ? kSleepMin
                    : std::min(2 * sleep, helped == HelpOutcome::waits ? kSleepMaxBusy : kSleepMax);
            in_long_sleep_.store(sleep > kSleepMaxBusy, std::memory_order_relaxed);
            if (wake_up_.wait_for(asleep, stop, sleep, [this] { return woken_; }))
                sleep = kSleepMin;
            woken_ = false;
        }
    }

    Engine<Wire>& engine_;
    std::mutex sleep_mutex_;
    std::condition_variable_any wake_up_;
    bool woken_ = false;
    std::atomic<bool> in_long_sleep_{false};  ///< in a sleep that is worth a system call to end
    std::jthread thread_;                     ///< last: it uses all of the above
};

}  // namespace weft::run
