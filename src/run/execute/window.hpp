// SPDX-License-Identifier: BSD-3-Clause
// window.hpp - the bank rule: when a call may write into a bank that an earlier call used.
//
// Idea     A team's calls are numbered in call order; call e uses bank e mod W. A call is
//          *synchronizing* if its completion at one rank implies that every rank has entered it.
//          With H = W / 2, call e starts at a rank when all calls <= e-H are complete there, and
//          one of these holds:
//          - some synchronizing call in [e-H, e-1] is complete there;
//          - all ranks have given credit for every call <= e-W (credits.hpp).
//          Ranks that share memory give credits. Other ranks insert a barrier where no
//          synchronizing call would be recent enough. Call order alone decides this, so all ranks
//          insert it at the same place.
// Why      Completion of the synchronizing call s >= e-H means that every rank has started s. By
//          the same rule, every rank has completed all calls <= s-H, and s-H >= e-W. So no rank
//          still reads bank e mod W. Credits state this directly.
// Holds    issue() depends on call order only, so ranks agree on the numbers without communication.
//          Starting never waits: may_start() is polled. The decisions are virtual, so that tests
//          can replace this rule by a faulty one and detect it.
// Next     docs/one-sided.md for the proof; tests/virtual/engine runs its counter-examples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "run/execute/credits.hpp"

namespace weft::run {

class Window {
  public:
    explicit Window(std::uint32_t banks)
        : banks_(banks), reuse_(banks / 2), complete_(banks, false) {}
    virtual ~Window() = default;

    /// Returns the number of this window's first call.
    [[nodiscard]] Epoch first() const { return next_; }
    [[nodiscard]] std::int64_t batch() const { return std::max<std::int64_t>(reuse_ / 2, 1); }
    /// Makes credits replace inserted barriers. Call before the first call of the team.
    void share(std::unique_ptr<Credits> credits) {
        credits_ = std::move(credits);
        due_ = next_ + batch();
    }

    // --- at the call, equal on all ranks ---

    /// Returns true if a barrier must be inserted before a call that is not synchronizing.
    [[nodiscard]] virtual bool needs_barrier() const {
        return credits_ == nullptr && last_synchronizing_ <= next_ - reuse_;
    }

    Epoch issue(bool synchronizing) {
        if (synchronizing) last_synchronizing_ = next_;
        return next_++;
    }

    // --- while running, at this rank ---

    [[nodiscard]] virtual bool may_start(Epoch epoch) {
        return first_incomplete_ > epoch - reuse_ &&
               (last_synchronized_ >= epoch - reuse_ || is_returned(epoch));
    }

    void complete(Epoch epoch, bool synchronizing) {
        if (synchronizing && epoch > last_synchronized_) last_synchronized_ = epoch;
        complete_[bank(epoch)] = true;
        while (first_incomplete_ < next_ && complete_[bank(first_incomplete_)])
            complete_[bank(first_incomplete_++)] = false;
        give_back();
    }

    /// Returns true if all numbered calls are complete.
    [[nodiscard]] bool idle() const { return first_incomplete_ == next_; }
    /// Returns the number of the next call.
    [[nodiscard]] Epoch next() const { return next_; }
    [[nodiscard]] Epoch first_incomplete() const { return first_incomplete_; }
    /// Returns true if the call is complete at this rank.
    [[nodiscard]] bool is_complete(Epoch epoch) const {
        return epoch < first_incomplete_ || (epoch < next_ && complete_[bank(epoch)]);
    }
    [[nodiscard]] std::uint32_t banks() const { return banks_; }
    [[nodiscard]] std::uint32_t bank(Epoch epoch) const {
        return static_cast<std::uint32_t>(epoch) & (banks_ - 1);
    }
    /// Returns the credits that alone prevent the start of a call, or nullptr.
    [[nodiscard]] const Credits* awaited(Epoch epoch) {
        const bool waits = credits_ != nullptr && first_incomplete_ > epoch - reuse_;
        return waits && !may_start(epoch) ? credits_.get() : nullptr;
    }

    // --- in an idle team ---

    /// Returns true if the next call may run at once: its gate is open, and it needs no barrier.
    [[nodiscard]] [[gnu::always_inline]] bool may_pass(bool synchronizing) {
        return last_synchronized_ > next_ - reuse_ || may_pass_late(synchronizing);
    }
    /// Decides may_pass() if no synchronizing call is recent.
    [[nodiscard]] [[gnu::noinline]] bool may_pass_late(bool synchronizing) {
        if (credits_ == nullptr) return synchronizing || !needs_barrier();
        return last_synchronized_ >= next_ - reuse_ || is_returned(next_);
    }
    /// Does the work of issue() and complete() for a call that runs at once.
    [[gnu::always_inline]] Epoch pass(bool synchronizing) {
        give_back();
        const Epoch epoch = next_++;
        first_incomplete_ = next_;
        if (synchronizing) [[likely]]
            last_synchronizing_ = last_synchronized_ = epoch;
        return epoch;
    }

  protected:
    /// Returns true if all ranks have given credit for the last call that used this call's bank.
    [[nodiscard]] virtual bool is_returned(Epoch epoch) {
        return credits_ != nullptr && credits_->reach(epoch - 2 * reuse_ + 1);
    }
    void give_back() {
        if (first_incomplete_ >= due_) [[unlikely]]
            give_now();
    }
    [[gnu::noinline]] void give_now() {
        due_ = first_incomplete_ + batch();
        give(first_incomplete_);
    }
    virtual void give(Epoch completed) { credits_->give(completed); }

    std::uint32_t banks_;
    std::int64_t reuse_;  ///< H
    Epoch next_ = 0;
    Epoch last_synchronizing_ = -1;  ///< last one issued
    Epoch first_incomplete_ = 0;
    Epoch last_synchronized_ = -1;      ///< last one complete here
    std::vector<bool> complete_;        ///< by bank: completed out of order, not yet counted
    std::unique_ptr<Credits> credits_;  ///< null: barriers are inserted instead
    Epoch due_ = std::numeric_limits<Epoch>::max();  ///< completed calls at the next credit
};

}  // namespace weft::run
