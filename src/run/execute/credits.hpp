// SPDX-License-Identifier: BSD-3-Clause
// credits.hpp - how ranks that share memory tell each other how far they have come.
//
// Idea     Each rank keeps, in its own region, the number of calls that it has completed, and
//          writes it now and then: a quarter of a window late at most. Who wants to write into a
//          bank again reads the words of the others, once for many calls.
// Holds    Numbers only grow, so an old one is a lower bound. What an earlier team has left in the
//          region says nothing: its ticks are before this team's first one. A rank that understood
//          the last of the calls that it counts differently gives no credit: who needs it waits,
//          and asks (inquiry.hpp).
// Next     window.hpp for the rule; docs/one-sided.md for the proof.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

/// Number of a call in its team. -1 is the creation of the team, which is synchronizing.
using Epoch = std::int64_t;

class Credits {
  public:
    using Word = std::atomic<base::FlagWord>;
    /// Of a call that has been completed here: the bits of its digest that flags carry; 0: no
    /// longer known.
    using HashOf = std::function<std::uint16_t(Epoch)>;

    /// `words` by team rank. `first` is the number of the team's first call. Without `hash_of`
    /// counts alone are compared.
    Credits(std::vector<Word*> words, Rank own, base::Tick first_tick, Epoch first, HashOf hash_of);

    /// Tells the others that all calls before this one are complete here.
    void give(Epoch completed);

    /// Whether all ranks have completed every call before this one.
    [[nodiscard]] bool reach(Epoch epoch) { return known_ >= epoch || ask(epoch); }

    /// Who had not given enough when reach() was last false.
    [[nodiscard]] Rank lacking() const { return at_; }
    /// The last call that this rank counts, if it is another one there than here; else -1.
    [[nodiscard]] Epoch disputed() const { return disputed_; }
    /// How many calls a rank says that it has completed.
    [[nodiscard]] Epoch count_from(Rank rank) const;

  private:
    bool ask(Epoch epoch);
    /// Whether that rank's last call before `completed` is the same as here, as far as is known.
    [[nodiscard]] bool agrees(Rank rank, Epoch completed) const;

    std::vector<Word*> words_;
    Rank own_;
    base::Tick first_tick_;
    Epoch first_;
    HashOf hash_of_;
    Epoch known_;  ///< every rank has completed the calls before this one
    Rank at_ = 0;  ///< whose word is read next
    Epoch disputed_ = -1;
};

}  // namespace weft::run
