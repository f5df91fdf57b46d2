// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/window.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weft::run {

Credits::Credits(std::vector<Word*> words, Rank own, base::Tick first_tick, Epoch first,
                 HashOf hash_of)
    : words_(std::move(words)),
      own_(own),
      first_tick_(first_tick),
      first_(first),
      hash_of_(std::move(hash_of)),
      known_(first) {}

void Credits::give(Epoch completed) {
    const base::Tick tick =
        (first_tick_ + static_cast<base::Tick>(completed - first_)) & base::kTickMask;
    const std::uint16_t hash = hash_of_ ? hash_of_(completed - 1) : std::uint16_t{1};
    // Release: pairs with the acquire in count_from(). This rank has finished reading its banks in
    // these calls before a local peer writes there again.
    words_[static_cast<std::size_t>(own_)]->store(base::flag_word(tick, hash),
                                                  std::memory_order_release);
}

Epoch Credits::count_from(Rank rank) const {
    const base::FlagWord word =
        words_[static_cast<std::size_t>(rank)]->load(std::memory_order_acquire);
    if (base::hash_of(word) == 0) return first_;  // never written
    return first_ +
           std::max<std::int64_t>(base::tick_distance(base::tick_of(word), first_tick_), 0);
}

bool Credits::agrees(Rank rank, Epoch completed) const {
    if (!hash_of_ || completed == first_) return true;
    const std::uint16_t mine = hash_of_(completed - 1);
    const base::FlagWord word =
        words_[static_cast<std::size_t>(rank)]->load(std::memory_order_acquire);
    // If the count has changed meanwhile, a later call checks it.
    return mine == 0 || count_from(rank) != completed || base::hash_of(word) == mine;
}

/// Continues with the rank whose count was too low, so that a wait reads one word in each poll.
bool Credits::read_counts(Epoch epoch) {
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

}  // namespace weft::run
