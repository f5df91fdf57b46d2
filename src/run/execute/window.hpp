// SPDX-License-Identifier: BSD-3-Clause
// window.hpp - the bank rule: when a call may write into a bank that an earlier call used.
//
// Idea     A team's calls are numbered in call order; call e uses bank e mod W. A call is
//          *synchronizing* if its completion at one rank implies that every rank has entered it.
//          With H = W / 2: e starts at a rank when all calls <= e-H are complete there and some
//          synchronizing call in [e-H, e-1] is complete there. If call order alone would leave no
//          such call, all ranks insert a barrier at the same place.
// Why      The completed synchronizing s >= e-H means that every rank has started s, so by the same
//          rule completed all calls <= s-H, and s-H >= e-W: no rank still reads bank e mod W.
// Holds    issue() depends on call order only, so ranks agree on the numbers without communicating.
//          Starting never waits: may_start() is polled. The two decisions are virtual so that the
//          tests can put a faulty rule in place of this one and detect it.
// Next     docs/one-sided.md for the proof and its counter-examples; tests/virtual for both run.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::run {

/// Number of a call in its team. -1 is the creation of the team, which is synchronizing.
using Epoch = std::int64_t;

class Window {
  public:
    explicit Window(std::uint32_t banks)
        : banks_(banks), reuse_(banks / 2), complete_(banks, false) {}
    virtual ~Window() = default;

    // --- at the call, the same on all ranks ---

    /// True if a barrier has to be numbered before a call that is not synchronizing.
    [[nodiscard]] virtual bool needs_barrier() const {
        return last_synchronizing_ <= next_ - reuse_;
    }

    Epoch issue(bool synchronizing) {
        if (synchronizing) last_synchronizing_ = next_;
        return next_++;
    }

    // --- while running, at this rank ---

    [[nodiscard]] virtual bool may_start(Epoch epoch) const {
        return first_incomplete_ > epoch - reuse_ && last_synchronized_ >= epoch - reuse_;
    }

    void complete(Epoch epoch, bool synchronizing) {
        if (synchronizing && epoch > last_synchronized_) last_synchronized_ = epoch;
        complete_[bank(epoch)] = true;
        while (first_incomplete_ < next_ && complete_[bank(first_incomplete_)])
            complete_[bank(first_incomplete_++)] = false;
    }

    /// No call is numbered that is not complete.
    [[nodiscard]] bool idle() const { return first_incomplete_ == next_; }
    /// The number that the next call takes.
    [[nodiscard]] Epoch next() const { return next_; }
    [[nodiscard]] Epoch first_incomplete() const { return first_incomplete_; }
    /// Complete at this rank.
    [[nodiscard]] bool is_complete(Epoch epoch) const {
        return epoch < first_incomplete_ || (epoch < next_ && complete_[bank(epoch)]);
    }
    [[nodiscard]] std::uint32_t bank(Epoch epoch) const {
        return static_cast<std::uint32_t>(epoch) & (banks_ - 1);
    }

    /// issue() and complete() of a call that runs at once on an idle team.
    Epoch pass(bool synchronizing) {
        const Epoch epoch = next_++;
        first_incomplete_ = next_;
        if (synchronizing) last_synchronizing_ = last_synchronized_ = epoch;
        return epoch;
    }

  protected:
    std::uint32_t banks_;
    std::int64_t reuse_;  ///< H
    Epoch next_ = 0;
    Epoch last_synchronizing_ = -1;  ///< issued
    Epoch first_incomplete_ = 0;
    Epoch last_synchronized_ = -1;  ///< complete here
    std::vector<bool> complete_;    ///< by bank: completed out of order, not yet counted
};

}  // namespace weft::run
