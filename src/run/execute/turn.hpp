// SPDX-License-Identifier: BSD-3-Clause
// turn.hpp - Turn, the lock of the threads that drive an engine, and status requests of a signal
// handler.
//
// Idea     One thread drives an engine at a time (docs/decisions/0017-one-lock-for-the-engine.md).
//          A signal handler cannot read an engine that it has interrupted, so it sets a flag. The
//          driving thread tests the flag after each poll without effect and when it leaves a call,
//          and prints a line about its wait.
// Holds    Status requests cost nothing in a fused call without lock whose flags have arrived: it
//          counts as inside only while it waits. If no thread is inside, the handler itself prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::run {

enum class TurnKind : std::uint8_t {
    own,     ///< one thread of the application
    shared,  ///< also a progress thread, which yields the turn to calls
    divided  ///< several threads of the application, which alternate
};

class Turn {
  public:
    explicit Turn(TurnKind kind) : kind_(kind) {}

    /// Holds the turn until it is destroyed. With TurnKind::own, holds no lock.
    using Hold = std::unique_lock<std::mutex>;
    [[nodiscard]] bool has_lock() const { return kind_ != TurnKind::own; }
    [[nodiscard]] bool divided() const { return kind_ == TurnKind::divided; }
    [[nodiscard]] [[gnu::always_inline]] Hold take() {
        if (kind_ == TurnKind::own) return Hold(mutex_, std::defer_lock);
        if (kind_ == TurnKind::divided || !mutex_.try_lock()) queue_up();
        return Hold(mutex_, std::adopt_lock);
    }
    /// Lets another thread have a divided turn, if one waits. The caller holds it before and after.
    void give_way() {
        if (kind_ != TurnKind::divided || !wanted()) return;
        mutex_.unlock();
        queue_up();
    }
    [[nodiscard]] bool wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }
    /// Takes a shared turn if it is free and no call waits for it; then owns_lock() is true. A
    /// thread that uses only this function never delays a call.
    [[nodiscard]] Hold try_take() {
        return wanted() ? Hold(mutex_, std::defer_lock) : Hold(mutex_, std::try_to_lock);
    }

  private:
    /// The first waiter holds `next_`: a thread that releases the turn cannot overtake it.
    [[gnu::noinline]] void queue_up() {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        const std::scoped_lock order(next_);
        mutex_.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

    const TurnKind kind_;
    std::mutex mutex_;
    std::mutex next_;              ///< held by the first waiter
    std::atomic<int> waiting_{0};  ///< threads in calls that wait for the turn
};

/// Outcome of a poll by a progress thread (Engine::help()).
enum class HelpOutcome : std::uint8_t {
    gave_way,  ///< a call holds the turn, and drives the engine itself
    moved,     ///< something advanced
    waits,     ///< calls are in flight, but nothing advanced
    idle,      ///< no call is in flight
};

/// Passes a request for status from a signal handler to a waiting call.
struct StatusRequest {
    // Handler and engine usually run on one thread, so relaxed order with signal fences suffices.
    // If the handler runs on another thread, the answer may be delayed until the next call.
    std::atomic<int> inside{0};        ///< calls of this runtime that are driving or waiting
    std::atomic<bool> pending{false};  ///< set by the handler, cleared by the answer

    /// Marks the start of a call. Calls nest, and calls of several threads may be inside at once. A
    /// thread holds the turn when it enters and leaves, so no update is lost.
    void enter() noexcept {
        inside.store(inside.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    /// Marks the end of a call. Returns true if a request is pending and this was the last call.
    [[nodiscard]] bool leave() noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const int others = inside.load(std::memory_order_relaxed) - 1;
        inside.store(others, std::memory_order_relaxed);
        // From here on, a handler sees no call inside. A handler that ran before has set `pending`.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return others == 0 && pending.load(std::memory_order_relaxed);
    }
};

/// Progress function of another library that shares the application's thread, called after polls
/// without effect. The function must not use the runtime.
class ExternalProgress {
  public:
    void set(void (*function)(void* argument), void* argument) {
        function_ = function;
        argument_ = argument;
    }
    [[nodiscard]] bool running() const {
        return running_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    /// Calls the function, if one is set and this thread is not already running it.
    void drive() {
        if (function_ == nullptr || running()) return;
        running_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        function_(argument_);
        running_.store(std::thread::id(), std::memory_order_relaxed);
    }

  private:
    void (*function_)(void* argument) = nullptr;
    void* argument_ = nullptr;
    std::atomic<std::thread::id> running_{};  ///< the thread that runs the function
};

}  // namespace weft::run
