// SPDX-License-Identifier: BSD-3-Clause
// window.hpp - the bank rule: condition for a call to reuse the bank of an earlier call.
//
// Idea     A team's calls are numbered in call order; call e uses bank e mod W. Section 1 of
//          docs/one-sided.md states the rule, with H = W / 2, and proves it.
// Holds    issue() depends only on the order of calls, so the numbers are equal on all ranks
//          without communication. No function waits: the engine polls may_start(). The decisions
//          are virtual, so that tests can check that they detect faulty rules.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Number of a call in its team, from 0. The creation of the team, synchronizing, has -1.
using Epoch = std::int64_t;

/// Counts of completed calls, for ranks that share memory. Each rank stores the number of its
/// completed calls in a word of its own region, at most a quarter of a window late. A rank that is
/// about to reuse a bank reads the words of all ranks. Words that an earlier team left in the
/// region are ignored, because their ticks precede this team's first tick. A count whose last call
/// differs from this rank's call of that number gives no credit.
class Credits {
  public:
    using Word = std::atomic<base::FlagWord>;
    /// Returns the hash in the flags of a completed call, or 0 if the call is too old.
    using HashOf = std::function<std::uint16_t(Epoch)>;

    /// `words`: by team rank. `first`: the window's first call. No `hash_of`: compares only counts.
    Credits(std::vector<Word*> words, Rank own, base::Tick first_tick, Epoch first, HashOf hash_of)
        : words_(std::move(words)),
          own_(own),
          first_tick_(first_tick),
          first_(first),
          hash_of_(std::move(hash_of)),
          known_(first) {}

    /// Publishes that this rank has completed all calls before `completed`.
    [[gnu::noinline]] void give(Epoch completed) {
        const base::Tick tick =
            (first_tick_ + static_cast<base::Tick>(completed - first_)) & base::kTickMask;
        const std::uint16_t hash = hash_of_ ? hash_of_(completed - 1) : std::uint16_t{1};
        // Release: pairs with the acquire in count_from(). This rank has finished reading its banks
        // in these calls before a local peer writes there again.
        words_[own_]->store(base::flag_word(tick, hash), std::memory_order_release);
    }

    /// Returns true if all ranks have completed every call before `epoch`.
    [[nodiscard]] bool reach(Epoch epoch) { return known_ >= epoch || read_counts(epoch); }

    /// Returns the team rank for which reach() last returned false.
    [[nodiscard]] Rank lacking() const { return at_; }
    /// Returns the last call that lacking() counts if that call differs from this rank's, else -1.
    [[nodiscard]] Epoch disputed() const { return disputed_; }
    /// Returns the number of calls that `rank` has published as complete.
    [[nodiscard]] Epoch count_from(Rank rank) const {
        const base::FlagWord word = words_[rank]->load(std::memory_order_acquire);
        if (base::hash_of(word) == 0) return first_;  // never written
        return first_ +
               std::max<std::int64_t>(base::tick_distance(base::tick_of(word), first_tick_), 0);
    }

  private:
    /// Continues with the rank whose count was too low, so that a wait reads one word in each poll.
    [[gnu::noinline]] bool read_counts(Epoch epoch) {
        const auto size = static_cast<Rank>(words_.size());
        Epoch least = std::numeric_limits<Epoch>::max();
        disputed_ = -1;
        for (Rank checked = 0; checked < size; ++checked) {
            if (at_ != own_) {
                const Epoch completed = count_from(at_);
                if (completed < epoch) return false;
                if (!agrees(at_, completed)) {
                    disputed_ = completed - 1;
                    return false;
                }
                least = std::min(least, completed);
            }
            at_ = at_ + 1 == size ? 0 : at_ + 1;
        }
        known_ = least;
        return true;
    }
    /// Returns false if the rank's last call before `completed` differs from this rank's.
    [[nodiscard]] bool agrees(Rank rank, Epoch completed) const {
        if (!hash_of_ || completed == first_) return true;
        const std::uint16_t mine = hash_of_(completed - 1);
        const base::FlagWord word = words_[rank]->load(std::memory_order_acquire);
        // If the count has changed meanwhile, a later call checks it.
        return mine == 0 || count_from(rank) != completed || base::hash_of(word) == mine;
    }

    std::vector<Word*> words_;
    Rank own_;
    base::Tick first_tick_;
    Epoch first_;
    HashOf hash_of_;
    Epoch known_;          ///< every rank has completed the calls before this one
    Rank at_ = 0;          ///< the rank whose word is read next
    Epoch disputed_ = -1;  ///< result of disputed()
};

/// Bank rule of a team's cells, or of its bulk banks of one size.
class Window {
  public:
    explicit Window(std::uint32_t banks)
        : banks_(banks), reuse_(banks / 2), complete_(banks, false) {}
    virtual ~Window() = default;

    /// Returns the number of this window's first call.
    [[nodiscard]] Epoch first() const { return next_; }
    /// Returns the number of completed calls after which a credit is published.
    [[nodiscard]] std::int64_t batch() const { return std::max<std::int64_t>(reuse_ / 2, 1); }
    /// Uses credits instead of inserted barriers. Must be called before the first call of the team.
    void share(std::unique_ptr<Credits> credits) {
        credits_ = std::move(credits);
        due_ = next_ + batch();
    }

    // --- when a call is made; results are equal on all ranks ---

    /// Returns true if a barrier must be inserted before a call that is not synchronizing.
    [[nodiscard]] virtual bool needs_barrier() const {
        return credits_ == nullptr && last_synchronizing_ <= next_ - reuse_;
    }

    Epoch issue(bool synchronizing) {
        if (synchronizing) last_synchronizing_ = next_;
        return next_++;
    }

    // --- while calls run; results depend on this rank's progress ---

    /// Returns true if the call may start: its bank is free on all ranks.
    [[nodiscard]] virtual bool may_start(Epoch epoch) {
        return first_incomplete_ > epoch - reuse_ &&
               (last_synchronized_ >= epoch - reuse_ || is_returned(epoch));
    }

    void complete(Epoch epoch, bool synchronizing) {
        if (synchronizing && epoch > last_synchronized_) last_synchronized_ = epoch;
        complete_[bank(epoch)] = true;
        while (first_incomplete_ < next_ && complete_[bank(first_incomplete_)])
            complete_[bank(first_incomplete_++)] = false;
        give_if_due();
    }

    /// Returns true if all numbered calls are complete.
    [[nodiscard]] bool idle() const { return first_incomplete_ == next_; }
    /// Returns the number of the next call.
    [[nodiscard]] Epoch next() const { return next_; }
    [[nodiscard]] Epoch first_incomplete() const { return first_incomplete_; }
    /// Returns true if the call is complete on this rank.
    [[nodiscard]] bool is_complete(Epoch epoch) const {
        return epoch < first_incomplete_ || (epoch < next_ && complete_[bank(epoch)]);
    }
    [[nodiscard]] std::uint32_t banks() const { return banks_; }
    [[nodiscard]] std::uint32_t bank(Epoch epoch) const {
        return static_cast<std::uint32_t>(epoch) & (banks_ - 1);
    }
    /// Returns the credits if only a missing credit prevents the start of the call, else nullptr.
    [[nodiscard]] const Credits* awaited(Epoch epoch) {
        const bool waits = credits_ != nullptr && first_incomplete_ > epoch - reuse_;
        return waits && !may_start(epoch) ? credits_.get() : nullptr;
    }

    // --- if no call is in flight ---

    /// Returns true if the next call may run immediately: it may start, and needs no barrier.
    [[nodiscard]] [[gnu::always_inline]] bool may_run_now(bool synchronizing) {
        return last_synchronized_ > next_ - reuse_ || may_run_now_late(synchronizing);
    }
    [[nodiscard]] [[gnu::noinline]] bool may_run_now_late(bool synchronizing) {
        if (credits_ == nullptr) return synchronizing || !needs_barrier();
        return last_synchronized_ >= next_ - reuse_ || is_returned(next_);
    }
    /// Does the work of issue() and complete() for a call that runs immediately.
    [[gnu::always_inline]] Epoch run_now(bool synchronizing) {
        give_if_due();
        const Epoch epoch = next_++;
        first_incomplete_ = next_;
        if (synchronizing) [[likely]]
            last_synchronizing_ = last_synchronized_ = epoch;
        return epoch;
    }

  protected:
    /// Returns true if credits cover the last call that used this call's bank.
    [[nodiscard]] virtual bool is_returned(Epoch epoch) {
        return credits_ != nullptr && credits_->reach(epoch - 2 * reuse_ + 1);
    }
    void give_if_due() {
        if (first_incomplete_ >= due_) [[unlikely]]
            give_now();
    }
    [[gnu::noinline]] void give_now() {
        due_ = first_incomplete_ + batch();
        give(first_incomplete_);
    }
    virtual void give(Epoch completed) { credits_->give(completed); }

    std::uint32_t banks_;
    std::int64_t reuse_;  ///< H: half the number of banks
    Epoch next_ = 0;
    Epoch last_synchronizing_ = -1;  ///< last synchronizing call that was issued
    Epoch first_incomplete_ = 0;
    Epoch last_synchronized_ = -1;      ///< last synchronizing call that is complete on this rank
    std::vector<bool> complete_;        ///< by bank: call complete, but not an earlier one
    std::unique_ptr<Credits> credits_;  ///< nullptr: barriers are inserted instead
    Epoch due_ = std::numeric_limits<Epoch>::max();  ///< first_incomplete_ at the next credit
};

}  // namespace weft::run
