// SPDX-License-Identifier: BSD-3-Clause
// window.hpp - the bank rule: when a call may write into a bank that an earlier call used.
//
// Idea     A team's calls are numbered in call order; call e uses bank e mod W. Section 1 of
//          docs/one-sided.md states the rule for H = W / 2, and proves it.
// Holds    issue() depends on call order only, so ranks agree on the numbers without communication.
//          Starting never waits: may_start() is polled. The decisions are virtual, so that tests
//          can replace this rule by a faulty one and detect it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Number of a call in its team. The creation of the team, which is synchronizing, is -1.
using Epoch = std::int64_t;

/// Counts of completed calls, exchanged between ranks that share memory. Each rank stores the
/// number of its completed calls in its own region, at most a quarter of a window late. A rank that
/// wants to reuse a bank reads these words of all ranks. Words of an earlier team in the region are
/// ignored: their ticks precede this team's first tick. If a rank disagrees about the last call
/// that it counts, its count gives no credit.
class Credits {
  public:
    using Word = std::atomic<base::FlagWord>;
    /// Returns the hash that flags of a completed call carry, or 0 if the call is too old.
    using HashOf = std::function<std::uint16_t(Epoch)>;

    /// `words` are indexed by team rank. `first` is the number of the team's first call. Without
    /// `hash_of`, only counts are compared.
    Credits(std::vector<Word*> words, Rank own, base::Tick first_tick, Epoch first, HashOf hash_of);

    /// Publishes that all calls before this one are complete here.
    void give(Epoch completed);

    /// Returns true if all ranks have completed every call before this one.
    [[nodiscard]] bool reach(Epoch epoch) { return known_ >= epoch || ask(epoch); }

    /// Returns the rank whose count was too low when reach() last returned false.
    [[nodiscard]] Rank lacking() const { return at_; }
    /// Returns the last call that this rank counts if lacking() disagrees about it, else -1.
    [[nodiscard]] Epoch disputed() const { return disputed_; }
    /// Returns the number of calls that a rank has published as complete.
    [[nodiscard]] Epoch count_from(Rank rank) const;

  private:
    bool ask(Epoch epoch);
    /// Returns false if the rank's last call before `completed` is known to differ.
    [[nodiscard]] bool agrees(Rank rank, Epoch completed) const;

    std::vector<Word*> words_;
    Rank own_;
    base::Tick first_tick_;
    Epoch first_;
    HashOf hash_of_;
    Epoch known_;  ///< every rank has completed the calls before this one
    Rank at_ = 0;  ///< the rank whose word is read next
    Epoch disputed_ = -1;
};

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
