// SPDX-License-Identifier: BSD-3-Clause
// turn.hpp - mutual exclusion of the threads that drive an engine, and requests for status.
//
// Idea     One thread drives an engine at a time (docs/decisions/0017-one-lock-for-the-engine.md).
//          A signal handler cannot read an engine that it has interrupted, so it sets a flag. The
//          driving thread tests the flag when it reads the clock, and prints the awaited signals.
// Holds    A call that runs alone and finds its flags at the first look pays nothing for requests
//          of status: it counts as inside only while it waits. A thread inside a call answers at
//          its next check, or when it leaves. Without one, the handler prints the state.
// Next     progress_thread.hpp for the progress thread; watchdog.hpp for the check;
//          run/job/sigterm_report.hpp for the handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::run {

/// Threads that take a turn.
enum class TurnKind : std::uint8_t {
    own,     ///< one thread of the application
    shared,  ///< also a progress thread, which gives way to calls
    divided  ///< several threads of the application, whose calls wait for each other
};

class Turn {
  public:
    explicit Turn(TurnKind kind) : kind_(kind) {}

    /// Holds the turn until it is destroyed. Holds nothing if only one thread takes the turn.
    using Hold = std::unique_lock<std::mutex>;
    [[nodiscard]] bool shared() const { return kind_ != TurnKind::own; }
    [[nodiscard]] bool divided() const { return kind_ == TurnKind::divided; }
    [[nodiscard]] [[gnu::always_inline]] Hold take() {
        if (kind_ == TurnKind::own) return Hold(mutex_, std::defer_lock);
        if (kind_ == TurnKind::divided || !mutex_.try_lock()) queue_up();
        return Hold(mutex_, std::adopt_lock);
    }
    /// Lets waiting threads take a divided turn. The caller holds the turn before and after.
    void give_way() {
        if (kind_ != TurnKind::divided || !wanted()) return;
        mutex_.unlock();
        queue_up();
    }
    /// Returns true if a call waits for the turn.
    [[nodiscard]] bool wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }
    /// Takes a shared turn if it is free and no call wants it. owns_lock() tells the outcome. So a
    /// thread that takes the turn repeatedly delays no call.
    [[nodiscard]] Hold try_take() {
        return wanted() ? Hold(mutex_, std::defer_lock) : Hold(mutex_, std::try_to_lock);
    }

  private:
    /// Waits for the turn. Waiters queue on `next_` and are served in order.
    [[gnu::noinline]] void queue_up() {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        const std::scoped_lock order(next_);
        mutex_.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

    const TurnKind kind_;
    std::mutex mutex_;
    std::mutex next_;
    std::atomic<int> waiting_{0};  ///< threads in calls that wait for the turn
};

/// Outcome of a progress thread's attempt to help (Engine::help()).
enum class HelpOutcome : std::uint8_t {
    gave_way,  ///< a call holds the turn, and drives the engine itself
    moved,
    waits,  ///< something is in flight and did not advance
    idle,
};

/// Passes a request for status from a signal handler to a waiting call.
struct StatusRequest {
    // Handler and engine usually run on one thread, so relaxed order with signal fences is enough.
    // If the handler runs on another thread, an answer may come one call late.
    std::atomic<int> inside{0};        ///< calls of this runtime that are driving or waiting
    std::atomic<bool> pending{false};  ///< set by the handler, cleared by the answer

    /// Marks the begin of a call. Calls nest, and calls of several threads may wait at once. Each
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

/// Scope in which a call drives an engine. Its end answers a request for status that no wait has
/// answered, so that a loop of short calls can be ended, too.
template <class Engine>
class Driving {
  public:
    explicit Driving(Engine& engine) : engine_(engine) { engine.status_request_.enter(); }
    ~Driving() {
        if (engine_.status_request_.leave()) [[unlikely]]
            engine_.watchdog_.answer_status_request([this] { return engine_.describe_running(); });
    }
    Driving(const Driving&) = delete;
    Driving& operator=(const Driving&) = delete;

  private:
    Engine& engine_;
};

/// Holds the progress function of another library that shares the caller's thread. Waits, and polls
/// without effect, call it. The function must not use the runtime.
class ExternalProgress {
  public:
    /// Sets the function. nullptr removes it.
    void set(void (*function)(void* argument), void* argument) {
        function_ = function;
        argument_ = argument;
    }
    /// Returns true if this thread is running the function.
    [[nodiscard]] bool running() const {
        return running_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

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
