// SPDX-License-Identifier: BSD-3-Clause
// window.hpp - the bank rule: condition for a call to reuse the bank of an earlier call.
//
// Idea     A team's calls are numbered in call order; call e uses bank e mod W. Section 1 of
//          docs/one-sided.md states the rule, with H = W / 2, and proves it.
// Holds    issue() depends only on the order of calls, so the numbers are equal on all ranks
//          without communication. No function waits: the engine polls may_start(). Tests override
//          the virtual functions with faulty rules, and must detect each one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Number of a call in its team, from 0. The creation of the team counts as synchronizing call -1.
using Epoch = std::int64_t;

/// Counts of completed calls, for ranks that share memory. Each rank stores a count, which lags by
/// at most W / 4 calls, in a word of its own region, and reads all words before it reuses a bank.
/// Words of earlier teams have ticks before this team's first tick and are ignored. A word also has
/// the hash of the last completed call: if this rank's call differs, the count is ignored.
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

    /// Publishes that this rank has completed all calls before `end`.
    [[gnu::noinline]] void give(Epoch end) {
        const auto tick = (first_tick_ + static_cast<base::Tick>(end - first_)) & base::kTickMask;
        const std::uint16_t hash = hash_of_ ? hash_of_(end - 1) : std::uint16_t{1};
        // Release: pairs with the acquire in count_from(). This rank has finished reading its banks
        // in these calls before a local peer writes there again.
        words_[own_]->store(base::flag_word(tick, hash), std::memory_order_release);
    }

    /// Returns true if all ranks have completed every call before `epoch`.
    [[nodiscard]] bool reach(Epoch epoch) { return known_ >= epoch || read_counts(epoch); }

    /// Returns true if all of `ranks` have completed every call before `epoch`.
    [[nodiscard]] bool reach(Epoch epoch, std::span<const Rank> ranks) {
        if (known_ >= epoch) return true;
        for (const Rank rank : ranks) {
            if (rank == own_ || count_from(rank) >= epoch) continue;
            at_ = rank;
            return false;
        }
        return true;
    }

    /// Returns the team rank that made the last reach() return false.
    [[nodiscard]] Rank lagging_rank() const { return at_; }
    /// Returns the number of that rank's last completed call if it differs from this rank's, or -1.
    [[nodiscard]] Epoch mismatched_call() const { return mismatched_call_; }
    /// Returns the end of the calls that `rank` has published as complete.
    [[nodiscard]] Epoch count_from(Rank rank) const {
        const base::FlagWord word = words_[rank]->load(std::memory_order_acquire);
        if (base::hash_of(word) == 0) return first_;  // never written
        return first_ +
               std::max<std::int64_t>(base::tick_distance(base::tick_of(word), first_tick_), 0);
    }

  private:
    /// Returns true if the counts of all ranks reach `epoch`. Starts with the rank whose count was
    /// too low, so that a waiting rank reads one word in each poll.
    [[gnu::noinline]] bool read_counts(Epoch epoch) {
        const auto size = static_cast<Rank>(words_.size());
        Epoch least = std::numeric_limits<Epoch>::max();
        mismatched_call_ = -1;
        for (Rank checked = 0; checked < size; ++checked) {
            if (at_ != own_) {
                const Epoch end = count_from(at_);
                if (end < epoch) return false;
                if (!agrees(at_, end)) {
                    mismatched_call_ = end - 1;
                    return false;
                }
                least = std::min(least, end);
            }
            at_ = at_ + 1 == size ? 0 : at_ + 1;
        }
        known_ = least;
        return true;
    }
    /// Returns false if call `end - 1` of the rank differs from call `end - 1` of this rank.
    [[nodiscard]] bool agrees(Rank rank, Epoch end) const {
        if (!hash_of_ || end == first_) return true;
        const std::uint16_t mine = hash_of_(end - 1);
        const base::FlagWord word = words_[rank]->load(std::memory_order_acquire);
        // If the count has changed meanwhile, a later call checks it.
        return mine == 0 || count_from(rank) != end || base::hash_of(word) == mine;
    }

    std::vector<Word*> words_;
    Rank own_;
    base::Tick first_tick_;
    Epoch first_;
    HashOf hash_of_;
    Epoch known_;  ///< every rank has completed all calls before `known_`
    Rank at_ = 0;  ///< the rank whose word is read next
    Epoch mismatched_call_ = -1;
};

/// Bank rule of a team's cells, or of its bulk banks of one size.
class Window {
  public:
    explicit Window(std::uint32_t banks)
        : banks_(banks), half_(banks / 2), complete_(banks, false) {}
    virtual ~Window() = default;

    /// Returns the number of completed calls after which a credit is published.
    [[nodiscard]] std::int64_t batch() const { return std::max<std::int64_t>(half_ / 2, 1); }
    /// Uses credits instead of inserted barriers. Must be called before the first call of the team.
    void use_credits(std::unique_ptr<Credits> credits) {
        credits_ = std::move(credits);
        due_ = next_ + batch();
    }

    // --- when a call is made; results are equal on all ranks ---

    /// Returns true if a barrier must be inserted before a call that is not synchronizing.
    [[nodiscard]] virtual bool needs_barrier() const {
        return credits_ == nullptr && last_sync_issued_ <= next_ - half_;
    }

    Epoch issue(bool synchronizing) {
        if (synchronizing) last_sync_issued_ = next_;
        return next_++;
    }

    // --- while calls run; results depend on this rank's progress ---

    /// Returns true if the call may start: its bank is free on all ranks.
    [[nodiscard]] virtual bool may_start(Epoch epoch) {
        return first_incomplete_ > epoch - half_ &&
               (last_sync_complete_ >= epoch - half_ || credits_free_bank_of(epoch));
    }

    /// May replace may_start() for a call that only puts into the banks of `receivers`, and whose
    /// puts each receiver awaits: then only these banks must be free.
    [[nodiscard]] bool may_put(Epoch epoch, std::span<const Rank> receivers) {
        if (credits_ == nullptr || last_sync_complete_ >= epoch - half_) return may_start(epoch);
        return first_incomplete_ > epoch - half_ &&
               credits_->reach(epoch - 2 * half_ + 1, receivers);
    }

    void complete(Epoch epoch, bool synchronizing) {
        if (synchronizing && epoch > last_sync_complete_) last_sync_complete_ = epoch;
        complete_[bank(epoch)] = true;
        while (first_incomplete_ < next_ && complete_[bank(first_incomplete_)])
            complete_[bank(first_incomplete_++)] = false;
        give_if_due();
    }

    [[nodiscard]] bool idle() const { return first_incomplete_ == next_; }
    [[nodiscard]] Epoch next() const { return next_; }
    [[nodiscard]] Epoch first_incomplete() const { return first_incomplete_; }
    /// Returns true if the call is complete on this rank. The record of a call that is H or more
    /// after the first incomplete one, and thus not started, belongs to an earlier call.
    [[nodiscard]] bool is_complete(Epoch epoch) const {
        return epoch < first_incomplete_ ||
               (epoch < std::min(next_, first_incomplete_ + banks_ / 2) && complete_[bank(epoch)]);
    }
    [[nodiscard]] std::uint32_t banks() const { return banks_; }
    [[nodiscard]] std::uint32_t bank(Epoch epoch) const {
        return static_cast<std::uint32_t>(epoch) & (banks_ - 1);
    }
    /// Returns the credits if only a missing credit prevents the start of the call, else nullptr.
    /// `may_start`: result of may_start() or may_put().
    [[nodiscard]] const Credits* awaited(Epoch epoch, bool may_start) const {
        const bool waits = credits_ != nullptr && first_incomplete_ > epoch - half_;
        return waits && !may_start ? credits_.get() : nullptr;
    }

    // --- if no call is in flight ---

    /// Returns true if the next call may run immediately: it may start, and needs no barrier.
    [[nodiscard]] [[gnu::always_inline]] bool may_run_now(bool synchronizing) {
        return last_sync_complete_ > next_ - half_ || may_run_now_slow(synchronizing);
    }
    /// Decides if no call of the last H - 1 was synchronizing, which is rare.
    [[nodiscard]] [[gnu::noinline]] bool may_run_now_slow(bool synchronizing) {
        if (credits_ == nullptr) return synchronizing || !needs_barrier();
        return last_sync_complete_ >= next_ - half_ || credits_free_bank_of(next_);
    }
    /// Does the work of issue() and complete() for a call that runs immediately.
    [[gnu::always_inline]] Epoch run_now(bool synchronizing) {
        give_if_due();
        const Epoch epoch = next_++;
        first_incomplete_ = next_;
        if (synchronizing) [[likely]]
            last_sync_issued_ = last_sync_complete_ = epoch;
        return epoch;
    }

  protected:
    /// Returns true if credits show that all ranks have completed the bank's previous call.
    [[nodiscard]] virtual bool credits_free_bank_of(Epoch epoch) {
        return credits_ != nullptr && credits_->reach(epoch - 2 * half_ + 1);
    }
    void give_if_due() {
        if (first_incomplete_ >= due_) [[unlikely]]
            give_now();
    }
    [[gnu::noinline]] void give_now() {
        due_ = first_incomplete_ + batch();
        give(first_incomplete_);
    }
    virtual void give(Epoch end) { credits_->give(end); }

    std::uint32_t banks_;
    std::int64_t half_;  ///< H: half the number of banks
    Epoch next_ = 0;
    Epoch last_sync_issued_ = -1;  ///< last synchronizing call that was issued
    Epoch first_incomplete_ = 0;
    Epoch last_sync_complete_ = -1;     ///< last synchronizing call that is complete on this rank
    std::vector<bool> complete_;        ///< by bank: its call is complete, an earlier one is not
    std::unique_ptr<Credits> credits_;  ///< nullptr: barriers are inserted instead
    Epoch due_ = std::numeric_limits<Epoch>::max();  ///< first_incomplete_ at the next credit
};

}  // namespace weft::run
