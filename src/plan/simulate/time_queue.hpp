// SPDX-License-Identifier: BSD-3-Clause
// time_queue.hpp - what is possible next, by time, for times that never go back.
//
// Idea     A radix heap whose front is sorted: an entry lies in the bucket of the highest bit in
//          which its time differs from the start of the front. The lowest bucket becomes the front
//          as a whole if it holds few entries, else it is laid out in about as many slots of equal
//          length as it has entries, and each slot becomes the front in turn.
// Source   Ahuja, Mehlhorn, Orlin and Tarjan, Faster algorithms for the shortest path problem,
//          1990; Brown, Calendar queues, 1988.
// Why      Thousands of lanes wait for times that lie close together: a binary heap of all of them
//          takes most of a simulation's time, and moving them from bit to bit half of it.
// Holds    push() with a time not before that of the last top(). Entries come in the order of their
//          operator >, which compares times first: exactly as out of one binary heap. Or, if that
//          is said to be enough, those of each owner do, and none comes long before an earlier one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/simulate/model.hpp"
#include "plan/simulate/time_slots.hpp"

namespace weft::plan {

template <class Entry>
class TimeQueue {
  public:
    [[nodiscard]] bool empty() const { return front_.empty(); }
    [[nodiscard]] const Entry& top() const { return front_.back(); }

    /// From here on entries of different owners may come in any order, if the earlier one is less
    /// than `ahead` before the other. What is pushed then may be before the last top() by as much.
    /// owner_of: by the lane of an entry.
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
        if (front_.size() > most_) shorten();
    }
    void pop() {
        if (sorted_) last_ = top().time;
        front_.pop_back();
        if (front_.empty()) refill();
    }

  private:
    using Bits = std::uint64_t;
    static constexpr std::size_t kFew = 32;
    static constexpr std::uint32_t kFewOfOne = 16;

    /// Times before 0, which costs that were fitted may lead to, lie with 0.
    [[nodiscard]] static Bits key(Time time) { return static_cast<Bits>(std::max<Time>(time, 0)); }
    [[nodiscard]] static int bucket_of(Time time, Time start) {
        return static_cast<int>(std::bit_width(key(time) ^ key(start)));
    }
    void put(const Entry& entry) {
        const int bucket = bucket_of(entry.time, start_);
        buckets_[static_cast<std::size_t>(bucket)].push_back(entry);
        filled_ |= Bits{1} << bucket;
    }

    /// Of the times that are like that one, but for so many bits.
    [[nodiscard]] static Bits end_of(Time time, int bits) {
        return ((key(time) >> bits) + 1) << bits;
    }
    /// The front has the times that are like `start`, but for so many bits.
    void begin_front(Time start, int bits) {
        start_ = start;
        end_ = end_of(start, bits);
        most_ = 2 * std::max(kFew, front_.size());
    }

    void refill() {
        if (!slots_.empty()) {
            end_ = slots_.take_first(front_);
            sorted_ = slots_.length() > ahead_ || !sort_by_owner();
            if (sorted_)
                sort_front();
            else
                last_ =
                    std::max(last_, static_cast<Time>(end_) - static_cast<Time>(slots_.length()));
            most_ = 2 * std::max(kFew, front_.size());
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

    /// Few entries, each of which is as often before as after another one, are sorted by counting,
    /// without branches that would be guessed wrongly.
    void sort_front() {
        sorted_ = true;
        const std::size_t count = front_.size();
        if (count > kFew) {
            std::ranges::sort(front_, std::greater<>());
            return;
        }
        std::array<Entry, kFew> entries;
        std::array<std::uint32_t, kFew> places{};
        std::ranges::copy(front_, entries.begin());
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint32_t place = places[i];
            for (std::uint32_t j = i + 1; j < count; ++j) {
                const std::uint32_t comes_after = entries[j] > entries[i] ? 1 : 0;
                place += comes_after;
                places[j] += 1 - comes_after;
            }
            front_[place] = entries[i];
        }
    }

    /// The entries of each owner in their order, of few each.
    bool sort_by_owner() {
        if (++fronts_ == 0) std::ranges::fill(seen_, Seen{.front = fronts_++});
        before_.resize(front_.size());
        for (std::uint32_t i = 0; i < front_.size(); ++i) {
            Seen& seen = seen_[owner_of_[front_[i].lane]];
            if (seen.front != fronts_) {
                seen = {.front = fronts_, .last = i, .count = 1};
                continue;
            }
            if (++seen.count > kFewOfOne) return false;
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

    /// Keeps the earliest of a front that others have joined. What is before start_, by which the
    /// buckets go, stays as it is: it has come between the last one taken and the front. So does a
    /// slot: it is short.
    void shorten() {
        if (slots_.end() > 0 || (start_ <= 0 && front_.back().time < 0)) {
            most_ = 2 * front_.size();
            return;
        }
        if (front_.back().time < start_) {
            const auto before = std::ranges::find_if(
                front_, [this](const Entry& entry) { return entry.time < start_; });
            std::for_each(front_.begin(), before, [this](const Entry& entry) { put(entry); });
            front_.erase(front_.begin(), before);
            end_ = static_cast<Bits>(start_);
            most_ = 2 * std::max(kFew, front_.size());
            return;
        }
        spread_.swap(front_);
        spread(end_);
    }
    /// Lays out entries that lie before `end`, as no others do; the first ones are the front.
    void spread(Bits end) {
        const auto [first, last] = std::ranges::minmax_element(spread_, {}, &Entry::time);
        start_ = first->time;
        slots_.lay_out(key(first->time), key(last->time), end, spread_.size());
        for (const Entry& entry : spread_) slots_.put(key(entry.time), entry);
        spread_.clear();
        refill();
    }

    std::vector<Entry> front_;  ///< the earliest last, if it is sorted: what comes before end_
    bool sorted_ = true;
    Bits end_ = 0;
    TimeSlots<Entry> slots_;  ///< what comes from there on, if there are any
    Time start_ = 0;          ///< not after anything in the buckets, which go by it
    Time last_ = 0;           ///< taken
    std::size_t most_ = kFew;
    std::array<std::vector<Entry>, 64> buckets_;  ///< times have 63 bits
    Bits filled_ = 0;                             ///< which of them are not empty, a bit each
    std::vector<Entry> spread_;
    Bits ahead_ = 0;
    std::vector<std::uint32_t> owner_of_;
    /// Of an owner: the last front that had entries of it, how many, and where the last one stands.
    struct Seen {
        std::uint32_t front = 0;
        std::uint32_t last = 0;
        std::uint32_t count = 0;
    };
    std::vector<Seen> seen_;
    std::vector<std::uint32_t>
        before_;  ///< by place in the front: that of the owner's entry before
    std::uint32_t fronts_ = 0;
};

}  // namespace weft::plan
