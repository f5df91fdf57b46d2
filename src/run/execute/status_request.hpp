// SPDX-License-Identifier: BSD-3-Clause
// status_request.hpp - how a request to end reaches a call that waits.
//
// Idea     A signal handler cannot read an engine that it has interrupted. It sets a flag; the
//          thread that drives the engine tests it where it reads the clock anyway, and prints what
//          it waits for.
// Holds    A call pays two plain stores and a load. A thread inside a call answers at its next
//          check or when it leaves; if no thread is inside, the handler itself prints the state.
// Next     watchdog.hpp for the check; run/runtime/sigterm_report.hpp for the handler.
#pragma once

#include <atomic>

namespace weft::run {

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

}  // namespace weft::run
