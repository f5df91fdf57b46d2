// SPDX-License-Identifier: BSD-3-Clause
// time_queue.hpp - monotone priority queue of possible actions, by time.
//
// Idea     A radix heap with a sorted front. The bucket of an entry is the highest bit in which its
//          time differs from the start of the front. If the lowest bucket has few entries, it
//          becomes the front. Otherwise it is spread over slots of equal length, about one for each
//          entry, and each slot becomes the front when it is reached.
// Source   Ahuja, Mehlhorn, Orlin and Tarjan, Faster algorithms for the shortest path problem,
//          1990; Brown, Calendar queues, 1988.
// Why      Thousands of lanes wait for times that differ little. With a binary heap, the queue
//          takes most of a simulation's time; with a plain radix heap, half of it.
// Holds    push() requires a time not before the last top(). Entries are returned in the order of
//          their operator >, which compares times first, exactly as from a binary heap. After
//          order_by_owner() only the entries of each owner keep that order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "tools/simulate/clock.hpp"
#include "tools/simulate/time_slots.hpp"

namespace weft::lab {

/// An Entry has a `time`, a `lane` and operator >.
template <class Entry>
class TimeQueue {
  public:
    [[nodiscard]] bool empty() const { return front_.empty(); }
    [[nodiscard]] const Entry& top() const { return front_.back(); }

    /// Allows entries of different owners in any order if their times differ by less than `ahead`.
    /// A pushed time may then precede the last top() by less than `ahead`. owner_of: for each lane,
    /// the owner of its entries.
    void order_by_owner(Time ahead, std::vector<std::uint32_t> owner_of) {
        ahead_ = static_cast<Bits>(ahead);
        owner_of_ = std::move(owner_of);
        seen_.resize(owner_of_.empty() ? 0 : std::ranges::max(owner_of_) + 1);
    }

    void push(const Entry& entry) {
        if (front_.empty()) begin_front(last_, bucket_of(entry.time, last_));
        const Bits time = key(entry.time);
        if (time >= end_) return time < slots_.end() ? slots_.put(time, entry) : put(entry);
        if (!sorted_) sort_front();
        if (front_.empty() || !(entry > front_.back()))
            front_.push_back(entry);
        else
            front_.insert(std::ranges::upper_bound(front_, entry, std::greater<>()), entry);
        if (front_.size() > front_limit_) shorten();
    }
    void pop() {
        if (sorted_) last_ = top().time;
        front_.pop_back();
        if (front_.empty()) refill();
    }

  private:
    using Bits = std::uint64_t;
    static constexpr std::size_t kFew = 32;  ///< a bucket of at most 32 entries becomes the front
    static constexpr std::uint32_t kOwnerEntriesMax = 16;  ///< limit of sort_by_owner()

    /// Maps times below 0, which fitted costs can cause, to 0.
    [[nodiscard]] static Bits key(Time time) { return static_cast<Bits>(std::max<Time>(time, 0)); }
    [[nodiscard]] static int bucket_of(Time time, Time start) {
        return static_cast<int>(std::bit_width(key(time) ^ key(start)));
    }
    void put(const Entry& entry) {
        const int bucket = bucket_of(entry.time, start_);
        buckets_[static_cast<std::size_t>(bucket)].push_back(entry);
        filled_ |= Bits{1} << bucket;
    }

    /// Returns the end of the interval of times that differ from `time` in the low bits only.
    [[nodiscard]] static Bits end_of(Time time, int bits) {
        return ((key(time) >> bits) + 1) << bits;
    }
    /// Starts a front with the times that differ from `start` in the low `bits` bits only.
    void begin_front(Time start, int bits) {
        start_ = start;
        end_ = end_of(start, bits);
        front_limit_ = 2 * std::max(kFew, front_.size());
    }

    void refill() {
        if (!slots_.empty()) {
            end_ = slots_.take_first(front_);
            // Entries of a slot shorter than `ahead` need an order only within each owner.
            sorted_ = slots_.length() > ahead_ || !sort_by_owner();
            if (sorted_)
                sort_front();
            else
                last_ =
                    std::max(last_, static_cast<Time>(end_) - static_cast<Time>(slots_.length()));
            front_limit_ = 2 * std::max(kFew, front_.size());
            return;
        }
        slots_.clear();
        if (filled_ == 0) return;
        const int lowest = std::countr_zero(filled_);
        std::vector<Entry>& bucket = buckets_[static_cast<std::size_t>(lowest)];
        filled_ &= filled_ - 1;
        if (lowest == 0 || bucket.size() <= kFew) {
            std::swap(front_, bucket);
            sort_front();
            begin_front(top().time, lowest);
            return;
        }
        spread_.swap(bucket);
        spread(end_of(spread_.front().time, lowest - 1));
    }

    /// Sorts the front: up to kFew entries by counting, which avoids mispredicted branches.
    void sort_front() {
        sorted_ = true;
        const std::size_t count = front_.size();
        if (count > kFew) {
            std::ranges::sort(front_, std::greater<>());
            return;
        }
        std::array<Entry, kFew> entries;
        std::array<std::uint32_t, kFew> positions{};
        std::ranges::copy(front_, entries.begin());
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint32_t position = positions[i];
            for (std::uint32_t j = i + 1; j < count; ++j) {
                const std::uint32_t comes_after = entries[j] > entries[i] ? 1 : 0;
                position += comes_after;
                positions[j] += 1 - comes_after;
            }
            front_[position] = entries[i];
        }
    }

    /// Sorts the entries of each owner. Returns false if an owner has more than kOwnerEntriesMax.
    bool sort_by_owner() {
        // The counter has overflowed: old numbers of fronts must not match new ones.
        if (++fronts_ == 0) std::ranges::fill(seen_, Seen{.front = fronts_++});
        before_.resize(front_.size());
        for (std::uint32_t i = 0; i < front_.size(); ++i) {
            Seen& seen = seen_[owner_of_[front_[i].lane]];
            if (seen.front != fronts_) {
                seen = {.front = fronts_, .last = i, .count = 1};
                continue;
            }
            if (++seen.count > kOwnerEntriesMax) return false;
            before_[i] = seen.last;
            seen.last = i;
            std::uint32_t at = i;
            for (std::uint32_t n = seen.count; n > 1; --n) {
                const std::uint32_t before = before_[at];
                if (!(front_[at] > front_[before])) break;
                std::swap(front_[at], front_[before]);
                at = before;
            }
        }
        return true;
    }

    /// Moves all but the earliest entries out of a front that has grown. Entries before start_
    /// stay, because the choice of a bucket depends on start_. A front from a slot also stays,
    /// since slots are short.
    void shorten() {
        if (slots_.end() > 0 || (start_ <= 0 && front_.back().time < 0)) {
            front_limit_ = 2 * front_.size();
            return;
        }
        if (front_.back().time < start_) {
            const auto before = std::ranges::find_if(
                front_, [this](const Entry& entry) { return entry.time < start_; });
            std::for_each(front_.begin(), before, [this](const Entry& entry) { put(entry); });
            front_.erase(front_.begin(), before);
            end_ = static_cast<Bits>(start_);
            front_limit_ = 2 * std::max(kFew, front_.size());
            return;
        }
        spread_.swap(front_);
        spread(end_);
    }
    /// Moves the entries of spread_ to slots; the first slot becomes the front. spread_ must have
    /// all entries before `end`.
    void spread(Bits end) {
        const auto [first, last] = std::ranges::minmax_element(spread_, {}, &Entry::time);
        start_ = first->time;
        slots_.lay_out(key(first->time), key(last->time), end, spread_.size());
        for (const Entry& entry : spread_) slots_.put(key(entry.time), entry);
        spread_.clear();
        refill();
    }

    std::vector<Entry> front_;  ///< entries before end_; the earliest is last if sorted_
    bool sorted_ = true;
    Bits end_ = 0;
    TimeSlots<Entry> slots_;                      ///< entries from end_ on, if laid out
    Time start_ = 0;                              ///< not after any entry in the buckets
    Time last_ = 0;                               ///< time of the last entry taken
    std::size_t front_limit_ = kFew;              ///< shorten() is called if the front is longer
    std::array<std::vector<Entry>, 64> buckets_;  ///< times have 63 bits
    Bits filled_ = 0;                             ///< bit mask of the buckets that are not empty
    std::vector<Entry> spread_;                   ///< entries that spread() moves
    Bits ahead_ = 0;                              ///< as passed to order_by_owner(), like owner_of_
    std::vector<std::uint32_t> owner_of_;         ///< by lane
    /// For each owner: number of the last front with its entries, index of the last one, and count.
    struct Seen {
        std::uint32_t front = 0;
        std::uint32_t last = 0;
        std::uint32_t count = 0;
    };
    std::vector<Seen> seen_;
    std::vector<std::uint32_t> before_;  ///< by entry of the front: the owner's preceding entry
    std::uint32_t fronts_ = 0;           ///< number of the front, for Seen::front
};

}  // namespace weft::lab
