// SPDX-License-Identifier: BSD-3-Clause
// external_progress.hpp - the progress of another library that shares the caller's thread.
#pragma once

#include <atomic>
#include <thread>

namespace weft::run {

/// Polls without effect, and waits, call the function, which must not use the runtime.
class ExternalProgress {
  public:
    /// nullptr: no more.
    void set(void (*function)(void* argument), void* argument) {
        function_ = function;
        argument_ = argument;
    }
    /// Whether the function is running, on this thread.
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
    std::atomic<std::thread::id> running_{};  ///< the thread that runs it
};

}  // namespace weft::run
