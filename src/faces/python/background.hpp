// SPDX-License-Identifier: BSD-3-Clause
// background.hpp - drives a runtime's started calls while the program computes.
//
// Idea     A thread polls the runtime. Peers on other nodes may need this rank to poll at any time,
//          for example for a flush, so the thread also polls, less often, without a call in flight.
// Why      WEFT_PROGRESS=thread starts such a thread, but weft.torch should not change the
//          program's environment, and weft_init_threads() takes no settings.
// Holds    The thread never needs the global interpreter lock, unless a Python operation exists.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "weft/weft.h"

namespace weft::python {

class BackgroundDriver {
  public:
    /// The runtime must serve several threads and outlive this object.
    explicit BackgroundDriver(weft_runtime* runtime) : runtime_(runtime) {
        struct RestoreMask {  // also if no thread can be started
            sigset_t mask;
            ~RestoreMask() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
        } before;
        sigset_t all;
        ::sigfillset(&all);
        // The program's threads handle its signals.
        ::pthread_sigmask(SIG_BLOCK, &all, &before.mask);
        thread_ = std::jthread([this](const std::stop_token& stop) { drive(stop); });
    }

    /// Counts a call that has started, until completed().
    void started() {
        // Sequentially consistent, as in drive(): either drive() sees this call, or idle_ is true.
        in_flight_.fetch_add(1, std::memory_order_seq_cst);
        if (!idle_.load(std::memory_order_seq_cst)) return;
        const std::scoped_lock lock(mutex_);
        wake_.notify_one();
    }
    void completed() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }

    /// Stops the polling during the lifetime of a Pause, in which a thread of the program polls.
    class Pause {
      public:
        explicit Pause(BackgroundDriver& driver) : driver_(driver) { ++driver_.pauses_; }
        ~Pause() { --driver_.pauses_; }
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;

      private:
        BackgroundDriver& driver_;
    };

  private:
    using Duration = std::chrono::microseconds;
    static constexpr Duration kSleepWithCalls{50};
    static constexpr Duration kSleepWithoutCalls{1000};
    static constexpr Duration kSleepIdle{10'000};  // or until started() wakes the thread
    static constexpr int kPollsBeforeIdle = 1000;

    [[nodiscard]] bool has_calls() const { return in_flight_.load(std::memory_order_seq_cst) > 0; }

    void drive(const std::stop_token& stop) {
        ::prctl(PR_SET_TIMERSLACK, 1000);  // ns; the default would more than double short sleeps
        int polls_without_calls = 0;
        while (!stop.stop_requested()) {
            if (pauses_.load(std::memory_order_relaxed) == 0) weft_progress(runtime_);
            polls_without_calls = has_calls() ? 0 : polls_without_calls + 1;
            if (polls_without_calls < kPollsBeforeIdle) {
                std::this_thread::sleep_for(has_calls() ? kSleepWithCalls : kSleepWithoutCalls);
                continue;
            }
            std::unique_lock lock(mutex_);
            idle_.store(true, std::memory_order_seq_cst);
            wake_.wait_for(lock, stop, kSleepIdle, [this] { return has_calls(); });
            idle_.store(false, std::memory_order_relaxed);
        }
    }

    weft_runtime* runtime_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::atomic<int> in_flight_{0};
    std::atomic<int> pauses_{0};
    std::atomic<bool> idle_{false};
    std::jthread thread_;  // last: uses all of the above
};

}  // namespace weft::python
