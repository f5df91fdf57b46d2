// SPDX-License-Identifier: BSD-3-Clause
// window.hpp - the bank rule: when a call may write into a bank that an earlier call used.
//
// Idea     A team's calls are numbered in call order; call e uses bank e mod W. A call is
//          *synchronizing* if its completion at one rank implies that every rank has entered it.
//          With H = W / 2: e starts at a rank when all calls <= e-H are complete there and either
//          some synchronizing call in [e-H, e-1] is complete there, or all ranks say that they have
//          completed every call <= e-W (credits.hpp). Ranks that share memory give such credits.
//          Others insert a barrier where call order alone would leave no synchronizing call, all at
//          the same place.
// Why      The completed synchronizing s >= e-H means that every rank has started s, so by the same
//          rule completed all calls <= s-H, and s-H >= e-W: no rank still reads bank e mod W.
//          Credits say just that.
// Holds    issue() depends on call order only, so ranks agree on the numbers without communicating.
//          Starting never waits: may_start() is polled. The decisions are virtual so that the tests
//          can put a faulty rule in place of this one and detect it.
// Next     docs/one-sided.md for the proof and its counter-examples; tests/virtual for both run.
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

    /// Where this window's calls begin; how many a rank completes before it gives credit for them.
    [[nodiscard]] Epoch first() const { return next_; }
    [[nodiscard]] std::int64_t batch() const { return std::max<std::int64_t>(reuse_ / 2, 1); }
    /// Before the first call: from now on credits take the place of inserted barriers.
    void share(std::unique_ptr<Credits> credits) {
        credits_ = std::move(credits);
        due_ = next_ + batch();
    }

    // --- at the call, the same on all ranks ---

    /// True if a barrier has to be numbered before a call that is not synchronizing.
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

    /// No call is numbered that is not complete.
    [[nodiscard]] bool idle() const { return first_incomplete_ == next_; }
    /// The number that the next call takes.
    [[nodiscard]] Epoch next() const { return next_; }
    [[nodiscard]] Epoch first_incomplete() const { return first_incomplete_; }
    /// Complete at this rank.
    [[nodiscard]] bool is_complete(Epoch epoch) const {
        return epoch < first_incomplete_ || (epoch < next_ && complete_[bank(epoch)]);
    }
    [[nodiscard]] std::uint32_t banks() const { return banks_; }
    [[nodiscard]] std::uint32_t bank(Epoch epoch) const {
        return static_cast<std::uint32_t>(epoch) & (banks_ - 1);
    }
    /// The credits that a call waits for which may otherwise start; nullptr if it does for none.
    [[nodiscard]] const Credits* awaited(Epoch epoch) {
        const bool waits = credits_ != nullptr && first_incomplete_ > epoch - reuse_;
        return waits && !may_start(epoch) ? credits_.get() : nullptr;
    }

    // --- of an idle team ---

    /// Whether the next call may run at once: no barrier goes before it, and its gate is open.
    [[nodiscard]] [[gnu::always_inline]] bool may_pass(bool synchronizing) {
        return last_synchronized_ > next_ - reuse_ || may_pass_late(synchronizing);
    }
    /// The same where no synchronizing call is recent.
    [[nodiscard]] [[gnu::noinline]] bool may_pass_late(bool synchronizing) {
        if (credits_ == nullptr) return synchronizing || !needs_barrier();
        return last_synchronized_ >= next_ - reuse_ || is_returned(next_);
    }
    /// issue() and complete() of a call that runs at once.
    [[gnu::always_inline]] Epoch pass(bool synchronizing) {
        give_back();
        const Epoch epoch = next_++;
        first_incomplete_ = next_;
        if (synchronizing) [[likely]]
            last_synchronizing_ = last_synchronized_ = epoch;
        return epoch;
    }

  protected:
    /// Whether all ranks say that they have completed the call that used this one's bank, and all
    /// before it.
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
    Epoch last_synchronizing_ = -1;  ///< issued
    Epoch first_incomplete_ = 0;
    Epoch last_synchronized_ = -1;      ///< complete here
    std::vector<bool> complete_;        ///< by bank: completed out of order, not yet counted
    std::unique_ptr<Credits> credits_;  ///< null: there are none, barriers are inserted
    Epoch due_ = std::numeric_limits<Epoch>::max();  ///< how many are complete at the next credit
};

}  // namespace weft::run
