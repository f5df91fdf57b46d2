// SPDX-License-Identifier: BSD-3-Clause
// turn.hpp - the threads that drive an engine: one at a time, and ready to say what they wait for.
//
// Idea     One thread drives an engine at a time. If only the application's thread ever does, a
//          turn costs a branch; if a progress thread does, too, it is a lock that each call holds
//          while it uses the engine. A signal handler cannot read an engine that it has
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
    explicit Turn(bool shared) : shared_(shared) {}

    /// Holds the turn until it is destroyed; holds nothing if the turn is not shared.
    using Hold = std::unique_lock<std::mutex>;
    [[nodiscard]] bool shared() const { return shared_; }
    [[nodiscard]] Hold take() { return shared_ ? Hold(mutex_) : Hold(mutex_, std::defer_lock); }
    /// Takes the turn only if it is free; owns_lock() says whether it was. For shared turns.
    [[nodiscard]] Hold try_take() { return Hold(mutex_, std::try_to_lock); }

  private:
    const bool shared_;
    std::mutex mutex_;
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
    std::atomic<bool> inside{false};   ///< a call of this runtime is being driven
    std::atomic<bool> pending{false};  ///< set by the handler, cleared by the answer

    /// Returns what to give to leave(): calls nest.
    [[nodiscard]] bool enter() noexcept {
        const bool nested = inside.load(std::memory_order_relaxed);
        inside.store(true, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return nested;
    }
    /// True if a request is pending and the outermost call is over.
    [[nodiscard]] bool leave(bool nested) noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        inside.store(nested, std::memory_order_relaxed);
        // A handler that runs from here on sees `inside` false; one that ran before has set
        // `pending`.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return !nested && pending.load(std::memory_order_relaxed);
    }
};

/// The time in which a call drives an engine. A request for status that came meanwhile and was not
/// answered in a wait is answered at its end: so a loop of short calls can be ended, too.
template <class Engine>
class Driving {
  public:
    explicit Driving(Engine& engine) : engine_(engine), nested_(engine.status_request_.enter()) {}
    ~Driving() {
        if (engine_.status_request_.leave(nested_)) [[unlikely]]
            engine_.watchdog_.answer_status_request([this] { return engine_.describe_running(); });
    }
    Driving(const Driving&) = delete;
    Driving& operator=(const Driving&) = delete;

  private:
    Engine& engine_;
    bool nested_;
};

}  // namespace weft::run
