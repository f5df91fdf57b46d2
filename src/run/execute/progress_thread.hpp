// SPDX-License-Identifier: BSD-3-Clause
// progress_thread.hpp - drives an engine while the application computes (WEFT_PROGRESS=thread).
//
// Idea     A thread that takes the engine's turn whenever nobody has it, polls, and naps. While a call
//          waits, that call has the turn and drives by itself: the thread costs it nothing but a failed
//          attempt per nap.
// Why      Without it started calls, and what peers want from this rank, move only inside the
//          application's own calls.
// Holds    Naps are short as long as polls move something and double up to kNapMax while they do not,
//          so an idle rank does not take a crowded machine's time. The destructor ends the thread and
//          needs the turn to be free.
// Next     turn.hpp; docs/measuring.md for what it costs and gains.
#pragma once

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

  private:
    static constexpr auto kNapMin = std::chrono::microseconds(20);
    static constexpr auto kNapMax = std::chrono::microseconds(1000);

    void drive(const std::stop_token& stop) {
        auto nap = kNapMin;
        std::unique_lock asleep(sleep_);
        while (!stop.stop_requested()) {
            nap = engine_.help() ? kNapMin : std::min(2 * nap, kNapMax);
            wake_.wait_for(asleep, stop, nap, [] { return false; });
        }
    }

    Engine<Wire>& engine_;
    std::mutex sleep_;
    std::condition_variable_any wake_;  ///< only the end of the thread wakes it early
    std::jthread thread_;               ///< last: it uses all of the above
};

}  // namespace weft::run
