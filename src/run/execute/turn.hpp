// SPDX-License-Identifier: BSD-3-Clause
// turn.hpp - the threads that drive an engine: one at a time, and ready to say what they wait for.
//
// Idea     One thread drives an engine at a time. If only the application's thread ever does, a
//          turn costs a branch; if a progress thread does, too, it is a lock that each call holds
//          while it uses the engine. Where the application's threads call at once the turn is
//          divided: a call that waits drives for all, and between polls gives way to those that
//          came meanwhile, in their order. A signal handler cannot read an engine that it has
//          interrupted: it sets a flag; the thread that drives the engine tests it where it reads
//          the clock anyway, and prints what it waits for.
// Holds    A request for status costs a call two plain stores and a load, and a call that runs
//          alone and finds what it awaits nothing: only while it waits it counts as inside. A
//          thread inside a call answers at its next check or when it leaves; if no thread is
//          inside, the handler itself prints the state.
// Next     progress_thread.hpp for the other driver; watchdog.hpp for the check;
//          run/runtime/sigterm_report.hpp for the handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace weft::run {

class Turn {
  public:
    /// Who else takes it than one thread of the application.
    enum class Kind : std::uint8_t {
        own,     ///< none
        shared,  ///< a thread that gives way to calls
        divided  ///< other threads of the application, whose calls wait, too
    };

    explicit Turn(Kind kind) : kind_(kind) {}

    /// Holds the turn until it is destroyed; holds nothing if the turn is not shared.
    using Hold = std::unique_lock<std::mutex>;
    [[nodiscard]] bool shared() const { return kind_ != Kind::own; }
    [[nodiscard]] bool divided() const { return kind_ == Kind::divided; }
    [[nodiscard]] [[gnu::always_inline]] Hold take() {
        if (kind_ == Kind::own) return Hold(mutex_, std::defer_lock);
        if (kind_ == Kind::divided || !mutex_.try_lock()) queue_up();
        return Hold(mutex_, std::adopt_lock);
    }
    /// Holding it: if it is divided, lets those have it that wait for it, and returns when it is
    /// this thread's again.
    void give_way() {
        if (kind_ != Kind::divided || !wanted()) return;
        mutex_.unlock();
        queue_up();
    }
    /// Whether a call waits for the turn.
    [[nodiscard]] bool wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }
    /// Takes the turn only if it is free and no call wants it; owns_lock() says whether it did. So
    /// who takes it again and again keeps no call out. For shared turns.
    [[nodiscard]] Hold try_take() {
        return wanted() ? Hold(mutex_, std::defer_lock) : Hold(mutex_, std::try_to_lock);
    }

  private:
    /// Who has come holds `next_` until the turn is its own: none overtakes it.
    [[gnu::noinline]] void queue_up() {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        const std::scoped_lock order(next_);
        mutex_.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

    const Kind kind_;
    std::mutex mutex_;
    std::mutex next_;
    std::atomic<int> waiting_{0};  ///< threads in calls that do not have it and want it
};

/// What a progress thread found when it tried to help (Engine::help()).
enum class HelpOutcome : std::uint8_t {
    gave_way,  ///< a call holds the turn, and drives the engine itself
    moved,
    waits,  ///< something is in flight and did not move
    idle,
};

/// How a request to say what is waited for reaches a call that waits.
struct StatusRequest {
    // Handler and engine mostly run on one thread, so relaxed order with signal fences is enough.
    // Where the handler runs on another thread, an answer may come one call late.
    std::atomic<int> inside{0};        ///< calls of this runtime that are being driven
    std::atomic<bool> pending{false};  ///< set by the handler, cleared by the answer

    /// Calls nest, and those of several threads wait at once. Each has the turn when it enters and
    /// leaves, so nothing is lost between load and store.
    void enter() noexcept {
        inside.store(inside.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    /// True if a request is pending and the last call is over.
    [[nodiscard]] bool leave() noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const int others = inside.load(std::memory_order_relaxed) - 1;
        inside.store(others, std::memory_order_relaxed);
        // A handler that runs from here on sees no call inside; one that ran before has set
        // `pending`.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return others == 0 && pending.load(std::memory_order_relaxed);
    }
};

/// The time in which a call drives an engine. A request for status that came meanwhile and was not
/// answered in a wait is answered at its end: so a loop of short calls can be ended, too.
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

}  // namespace weft::run
