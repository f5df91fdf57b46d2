// SPDX-License-Identifier: BSD-3-Clause
// turn.hpp - whose turn it is to drive an engine.
//
// Idea     One thread drives an engine at a time. If only the application's thread ever does, a turn
//          costs a branch; if a progress thread does, too, it is a lock that each call holds from its
//          first look at the engine to its last.
// Next     progress_thread.hpp for the other driver.
#pragma once

#include <mutex>

namespace weft::run {

class Turn {
  public:
    explicit Turn(bool shared) : shared_(shared) {}

    /// Holds the turn until it is destroyed, or holds nothing where nobody shares.
    using Hold = std::unique_lock<std::mutex>;
    [[nodiscard]] Hold take() { return shared_ ? Hold(mutex_) : Hold(mutex_, std::defer_lock); }
    /// Takes the turn only if nobody has it; owns_lock() says whether it did. For shared turns.
    [[nodiscard]] Hold try_take() { return Hold(mutex_, std::try_to_lock); }
    [[nodiscard]] bool shared() const { return shared_; }

  private:
    const bool shared_;
    std::mutex mutex_;
};

}  // namespace weft::run
