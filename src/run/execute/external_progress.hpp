// SPDX-License-Identifier: BSD-3-Clause
// external_progress.hpp - the progress of another library that shares the caller's thread.
#pragma once

namespace weft::run {

/// Polls without effect, and waits, call the function, which must not use the runtime.
class ExternalProgress {
  public:
    /// nullptr: no more.
    void set(void (*function)(void* argument), void* argument) {
        function_ = function;
        argument_ = argument;
    }
    /// Whether the function is running, on this thread: no other one runs it.
    [[nodiscard]] bool running() const { return running_; }

    void drive() {
        if (function_ == nullptr || running_) return;
        running_ = true;
        function_(argument_);
        running_ = false;
    }

  private:
    void (*function_)(void* argument) = nullptr;
    void* argument_ = nullptr;
    bool running_ = false;
};

}  // namespace weft::run
