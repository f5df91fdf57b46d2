// SPDX-License-Identifier: BSD-3-Clause
// progress_thread.hpp - drives an engine while the application computes (WEFT_PROGRESS).
//
// Idea     A thread repeatedly takes the engine's turn if it is free, polls, and sleeps
//          (docs/decisions/0017-one-lock-for-the-engine.md). A call that waits holds the turn and
//          drives the engine itself. Then the thread costs one failed attempt per sleep.
// Holds    The program's own threads handle its signals. The destructor ends the thread and needs
//          the turn to be free.
// Next     turn.hpp; docs/performance.md for cost and gain.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/clock.hpp"
#include "run/execute/engine.hpp"

namespace weft::run {

/// Decides whether a thread that only polls yields before the next poll, or sleeps. After a yield,
/// a computing thread may keep the processor for milliseconds. After a sleep, the scheduler gives
/// the processor back at once.
class YieldLimit {
  public:
    static constexpr std::uint64_t kYieldingNs = 1'000'000;
    static constexpr std::uint64_t kCrowdedNs = 500'000;  ///< longer than a poll of another rank
    static constexpr std::uint64_t kAvoidNs = 20'000'000;

    /// Restarts the limit: something has advanced, or is about to.
    void renew() { since_ns_ = 0; }
    /// Returns false if nothing has advanced for long, or other threads want the processor.
    [[nodiscard]] bool yields(std::uint64_t now_ns) {
        if (since_ns_ == 0) since_ns_ = now_ns;
        return now_ns - since_ns_ <= kYieldingNs && now_ns >= crowded_until_ns_;
    }
    /// Records when a yield began and ended.
    void yielded(std::uint64_t before_ns, std::uint64_t after_ns) {
        if (after_ns - before_ns > kCrowdedNs) crowded_until_ns_ = after_ns + kAvoidNs;
    }

  private:
    std::uint64_t since_ns_ = 0;  ///< time of the first question since renew()
    std::uint64_t crowded_until_ns_ = 0;
};

template <Transport Wire>
class ProgressThread {
  public:
    /// The engine must be shared (EngineOptions) and outlive this object.
    explicit ProgressThread(Engine<Wire>& engine)
        : engine_(engine), thread_(start_without_signals()) {}

    /// Ends a sleep, so that a started call does not wait for it.
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
    static constexpr Sleep kSleepMin{20};
    static constexpr Sleep kSleepMaxBusy{80};
    static constexpr Sleep kSleepMax{1000};

    /// Starts the thread with all signals blocked, except those that its own faults raise. A
    /// blocked fault would end the process without the program's handler.
    std::jthread start_without_signals() {
        sigset_t blocked;
        sigset_t before;
        ::sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
            ::sigdelset(&blocked, fault);
        ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
        std::jthread started([this](std::stop_token stop) { drive(stop); });
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return started;
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
            sleep = std::min(sleep, sleep_max(helped));
            const bool woken = rest(sleep, stop);
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
    static Sleep sleep_max(HelpOutcome helped) {
        return helped == HelpOutcome::waits ? kSleepMaxBusy : kSleepMax;
    }

    /// Sleeps. Returns true if wake() ended the sleep.
    bool rest(Sleep sleep, const std::stop_token& stop) {
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
