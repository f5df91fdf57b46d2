// SPDX-License-Identifier: BSD-3-Clause
// status_request.hpp - how a request to end reaches a call that waits.
//
// Idea     A signal handler cannot read an engine that it has interrupted. It only asks; whoever drives
//          the engine sees that where it looks at the clock anyway, and answers with what it waits for.
// Holds    A call pays two plain stores and a load. A thread that is inside answers at its next look or
//          when it leaves; one that is not inside is not asked: the handler then knows what to say.
// Next     watchdog.hpp for the look; run/runtime/sigterm_report.hpp for the handler.
#pragma once

#include <atomic>

namespace weft::run {

struct StatusRequest {
    // Handler and engine mostly run on one thread, so relaxed order with signal fences is enough. Where
    // the handler runs on another thread, an answer may come one call late.
    std::atomic<bool> inside{false};  ///< a call of this runtime is being driven
    std::atomic<bool> asked{false};   ///< set by the handler, taken by who answers

    /// Returns what to give to leave(): calls nest.
    [[nodiscard]] bool enter() noexcept {
        const bool nested = inside.load(std::memory_order_relaxed);
        inside.store(true, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return nested;
    }
    /// True if somebody has asked and the outermost call is over.
    [[nodiscard]] bool leave(bool nested) noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        inside.store(nested, std::memory_order_relaxed);
        // The handler that comes from here on sees nobody inside; one that came before has asked.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return !nested && asked.load(std::memory_order_relaxed);
    }
};

}  // namespace weft::run
