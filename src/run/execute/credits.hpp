// SPDX-License-Identifier: BSD-3-Clause
// credits.hpp - counts of completed calls, exchanged between ranks that share memory.
//
// Idea     Each rank stores the number of its completed calls in its own region, at most a quarter
//          of a window late. A rank that wants to reuse a bank reads these words of all ranks, once
//          for many calls.
// Holds    Numbers only grow, so an old one is a lower bound. Words of an earlier team in the
//          region are ignored: their ticks precede this team's first tick. If a rank disagrees
//          about the last call that it counts, its count gives no credit. The rank that needs the
//          credit waits, and sends an inquiry (inquiry.hpp).
// Next     window.hpp for the rule; docs/one-sided.md for the proof.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Number of a call in its team. The creation of the team, which is synchronizing, is -1.
using Epoch = std::int64_t;

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
    /// Returns false if the rank's last call before `completed` is known to differ
    /// from this rank's.
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

}  // namespace weft::run
