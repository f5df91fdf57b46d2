// SPDX-License-Identifier: BSD-3-Clause
// external_progress.hpp - the progress of another library that shares the caller's thread.
#pragma once

#include <atomic>
#include <thread>

namespace weft::run {

/// Holds a progress function, called by waits and by polls without effect. The function must not
/// use the runtime.
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
