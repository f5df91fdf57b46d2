// SPDX-License-Identifier: BSD-3-Clause
// turn.hpp - mutual exclusion of the threads that drive an engine.
//
// Idea     One thread drives an engine at a time. If only the application's thread ever does, a
//          turn costs a branch; if a progress thread does, too, it is a lock that each call holds
//          while it uses the engine.
// Next     progress_thread.hpp for the other driver.
#pragma once

#include <mutex>

namespace weft::run {

class Turn {
  public:
    explicit Turn(bool shared) : shared_(shared) {}

    /// Holds the turn until it is destroyed; holds nothing if the turn is not shared.
    using Hold = std::unique_lock<std::mutex>;
    [[nodiscard]] Hold take() { return shared_ ? Hold(mutex_) : Hold(mutex_, std::defer_lock); }
    /// Takes the turn only if it is free; owns_lock() says whether it was. For shared turns.
    [[nodiscard]] Hold try_take() { return Hold(mutex_, std::try_to_lock); }

  private:
    const bool shared_;
    std::mutex mutex_;
};

}  // namespace weft::run
