// SPDX-License-Identifier: BSD-3-Clause
// progress_thread.hpp - drives an engine while the application computes (WEFT_PROGRESS).
//
// Idea     A thread repeatedly takes the engine's turn if it is free, polls, and sleeps
//          (docs/decisions/0017-one-lock-for-the-engine.md). A waiting call holds the turn and
//          drives the engine itself. Then the thread only tries to take the turn.
// Holds    Only the program's own threads handle its signals. The destructor joins the thread, so
//          its caller must not hold the turn.
// Next     docs/performance.md for measurements.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include "base/blocked_signals.hpp"
#include "base/clock.hpp"
#include "run/execute/engine.hpp"

namespace weft::run {

/// Decides whether a polling thread yields or sleeps. After a yield to a computing thread, it may
/// get the processor back only after milliseconds; after a sleep, it gets it immediately.
class YieldLimit {
  public:
    static constexpr std::uint64_t kYieldingNs = 1'000'000;  ///< limit of yields without progress
    /// A longer yield shows that a thread computes: polls of other ranks are shorter.
    static constexpr std::uint64_t kLongYieldNs = 500'000;
    static constexpr std::uint64_t kAvoidNs = 20'000'000;  ///< time without yields after a long one

    /// Restarts the time limit of yields.
    void renew() { since_ns_ = 0; }
    /// Returns false if nothing has advanced for kYieldingNs, or after a long yield.
    [[nodiscard]] bool yields(std::uint64_t now_ns) {
        if (since_ns_ == 0) since_ns_ = now_ns;
        return now_ns - since_ns_ <= kYieldingNs && now_ns >= avoid_until_ns_;
    }
    void yielded(std::uint64_t before_ns, std::uint64_t after_ns) {
        if (after_ns - before_ns > kLongYieldNs) avoid_until_ns_ = after_ns + kAvoidNs;
    }

  private:
    std::uint64_t since_ns_ = 0;  ///< time of the first yields() since renew(); 0: none
    std::uint64_t avoid_until_ns_ = 0;
};

template <Transport Wire>
class ProgressThread {
  public:
    /// The engine's turn must be shared (EngineOptions::turn). The engine must outlive this object.
    explicit ProgressThread(Engine<Wire>& engine) : engine_(engine), thread_(start()) {}

    /// Ends the thread's sleep, so that it drives a call that has just started.
    void wake() {
        if (!asleep_.load(std::memory_order_relaxed)) return;
        {
            const std::scoped_lock lock(sleep_mutex_);
            woken_ = true;
        }
        wake_up_.notify_one();
    }

  private:
    using Sleep = std::chrono::microseconds;
    static constexpr Sleep kSleepMin{20};      // doubled after each sleep
    static constexpr Sleep kSleepMaxBusy{80};  // while calls are in flight
    static constexpr Sleep kSleepMax{1000};    // while no call is in flight

    std::jthread start() {
        const base::BlockedSignals blocked;
        try {
            return std::jthread([this](std::stop_token stop) { drive(stop); });
        } catch (const std::system_error& error) {
            throw std::system_error(error.code(), "the progress thread of WEFT_PROGRESS");
        }
    }

    void drive(const std::stop_token& stop) {
        prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default would more than double short sleeps
        Sleep sleep = kSleepMin;
        while (!stop.stop_requested()) {
            const HelpOutcome helped = engine_.help();
            if (helped == HelpOutcome::moved) {
                yield_limit_.renew();
                sleep = kSleepMin;
                continue;
            }
            if (helped == HelpOutcome::waits && yield()) continue;
            sleep = std::min(sleep, helped == HelpOutcome::waits ? kSleepMaxBusy : kSleepMax);
            const bool woken = sleep_for(sleep, stop);
            if (woken) yield_limit_.renew();
            sleep = woken ? kSleepMin : 2 * sleep;
        }
    }
    /// Yields the processor. Returns false if the thread should sleep instead.
    bool yield() {
        const std::uint64_t before = base::monotonic_ns();
        if (!yield_limit_.yields(before)) return false;
        std::this_thread::yield();
        yield_limit_.yielded(before, base::monotonic_ns());
        return true;
    }

    /// Sleeps. Returns true if wake() ended the sleep.
    bool sleep_for(Sleep sleep, const std::stop_token& stop) {
        std::unique_lock lock(sleep_mutex_);
        asleep_.store(true, std::memory_order_relaxed);
        const bool woken = wake_up_.wait_for(lock, stop, sleep, [this] { return woken_; });
        asleep_.store(false, std::memory_order_relaxed);
        woken_ = false;
        return woken;
    }

    Engine<Wire>& engine_;
    YieldLimit yield_limit_;
    std::mutex sleep_mutex_;
    std::condition_variable_any wake_up_;
    bool woken_ = false;
    std::atomic<bool> asleep_{false};
    std::jthread thread_;  ///< last: uses all of the above
};

}  // namespace weft::run
