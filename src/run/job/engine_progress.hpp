// SPDX-License-Identifier: BSD-3-Clause
// engine_progress.hpp - drives the engine for started calls and for callers that do not wait.
//
// Idea     The application calls drive(), or a progress thread polls (WEFT_PROGRESS).
// Holds    After close(), drive() has no effect.
#pragma once

#include <atomic>
#include <memory>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "run/execute/turn.hpp"
#include "run/job/job.hpp"

namespace weft::run {

class RealEngine;
class RealProgressThread;
struct Operation;

class EngineProgress {
  public:
    EngineProgress(const Job& job, RealEngine& engine);
    ~EngineProgress();

    /// Polls the engine once.
    void drive();
    /// Polls the engine once, unless another thread holds the turn or waits for it.
    void drive_if_free();
    /// If peers may send requests, polls the engine in every 32nd call. For calls that only load
    /// and store: they never wait for another thread, which polls while it holds the turn. `calls`:
    /// a context's own count, so that threads with contexts write no common memory, or nullptr.
    void drive_now_and_then(std::atomic<unsigned>* calls = nullptr) {
        constexpr unsigned kDriveEvery = 32;
        if (!may_serve()) return;
        // Not an atomic addition: lost counts of concurrent threads only delay the poll.
        std::atomic<unsigned>& counted = calls != nullptr ? *calls : calls_;
        const unsigned now = counted.load(std::memory_order_relaxed) + 1;
        counted.store(now, std::memory_order_relaxed);
        if (now % kDriveEvery == 0) drive_if_free();
    }
    /// Returns true if peers may send requests. Then a rank must drive the engine from time to
    /// time, even if it only loads from and stores to local memory.
    [[nodiscard]] bool may_serve() const { return may_serve_.load(std::memory_order_relaxed); }
    /// Makes may_serve() return true from now on.
    void expect_requests() { may_serve_.store(true, std::memory_order_relaxed); }

    /// Makes waits call `function` instead of sleeping. nullptr removes it.
    void set_external(void (*function)(void* argument), void* argument);

    // Calls that Team::start() has started. The caller must call finish() or release().

    [[nodiscard]] bool ended(const Operation& operation);
    /// Polls the engine once unless the call has already ended. Returns true if the call has ended.
    [[nodiscard]] bool test(const Operation& operation);
    void wait(Operation& operation);
    /// Waits until the call has ended or the deadline has passed. Returns true if it has ended.
    [[nodiscard]] bool wait(Operation& operation, base::Deadline deadline);
    /// Returns the result of an ended call, and releases the operation.
    [[nodiscard]] base::Result<void> finish(Operation& operation);
    /// Releases the operation: the caller must not use it any more. The call itself continues.
    void release(Operation& operation);

    /// Starts the progress thread. The engine's turn must be shared (EngineOptions::turn).
    void start_thread();
    /// Wakes the progress thread, if it exists, to complete a call whose caller does not wait.
    void wake_thread();
    /// Ends the thread, if it exists.
    void close();

  private:
    const Job& job_;
    RealEngine& engine_;
    ExternalProgress& external_;  ///< owned by the engine
    std::atomic<bool> may_serve_;
    std::atomic<unsigned> calls_{0};
    bool closed_ = false;  ///< close() was called
    std::unique_ptr<RealProgressThread> thread_;
};

}  // namespace weft::run
