// SPDX-License-Identifier: BSD-3-Clause
// progress_thread.hpp - drives an engine while the application computes (WEFT_PROGRESS=thread).
//
// Idea     A thread that takes the engine's turn whenever nobody has it, polls, and naps. While a call
//          waits, that call has the turn and drives by itself: the thread costs it nothing but a failed
//          attempt per nap.
// Why      Without it started calls, and what peers want from this rank, move only inside the
//          application's own calls.
// Holds    Naps are short as long as polls move something, longer while a call is in flight that does
//          not move, and longest while there is none, so an idle rank does not take a crowded machine's
//          time; wake() ends a nap. The destructor ends the thread and needs the turn to be free.
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

    /// Something was started that should not wait for the end of a long nap.
    void wake() {
        if (!dozes_.load(std::memory_order_relaxed)) return;
        {
            const std::scoped_lock lock(sleep_);
            woken_ = true;
        }
        alarm_.notify_one();
    }

  private:
    using Nap = std::chrono::microseconds;
    static constexpr Nap kNapMin{20};
    static constexpr Nap kNapMaxBusy{80};
    static constexpr Nap kNapMax{1000};

    void drive(const std::stop_token& stop) {
        prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default would more than double short naps
        Nap nap = kNapMin;
        std::unique_lock asleep(sleep_);
        while (!stop.stop_requested()) {
            const Helped helped = engine_.help();
            nap = helped == Helped::moved
                      ? kNapMin
                      : std::min(2 * nap, helped == Helped::waits ? kNapMaxBusy : kNapMax);
            dozes_.store(nap > kNapMaxBusy, std::memory_order_relaxed);
            if (alarm_.wait_for(asleep, stop, nap, [this] { return woken_; })) nap = kNapMin;
            woken_ = false;
        }
    }

    Engine<Wire>& engine_;
    std::mutex sleep_;
    std::condition_variable_any alarm_;
    bool woken_ = false;
    std::atomic<bool> dozes_{false};  ///< in a nap that is worth a system call to end
    std::jthread thread_;             ///< last: it uses all of the above
};

}  // namespace weft::run
