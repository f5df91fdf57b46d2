// SPDX-License-Identifier: BSD-3-Clause
// time_queue.hpp - what is possible next, by time, for times that never go back.
//
// Idea     A radix heap whose front is sorted: an entry lies in the bucket of the highest
//          bit in which its time differs from the start of the front. The lowest bucket becomes the
//          front as a whole once it holds few entries, else it is spread over lower ones.
// Source   Ahuja, Mehlhorn, Orlin and Tarjan, Faster algorithms for the shortest path problem,
//          1990.
// Why      Thousands of lanes wait for times that lie close together: a binary heap of all of them
//          takes most of a simulation's time.
// Holds    push() with a time not before that of the last top(). Entries come in the order of their
//          operator >, which compares times first: exactly as out of one binary heap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/simulate/model.hpp"

namespace weft::plan {

template <class Entry>
class TimeQueue {
  public:
    [[nodiscard]] bool empty() const { return front_.empty(); }
    [[nodiscard]] const Entry& top() const { return front_.back(); }

    void push(const Entry& entry) {
        if (front_.empty()) begin_front(last_, bucket_of(entry.time, last_));
        if (key(entry.time) >= end_) return put(entry);
        front_.insert(std::ranges::upper_bound(front_, entry, std::greater<>()), entry);
        if (front_.size() > most_) shorten();
    }
    void pop() {
        last_ = top().time;
        front_.pop_back();
        if (front_.empty()) refill();
    }

  private:
    using Bits = std::uint64_t;
    static constexpr std::size_t kFew = 32;

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

    /// The front has the times that are like `start`, but for so many bits.
    void begin_front(Time start, int bits) {
        start_ = start;
        end_ = ((key(start) >> bits) + 1) << bits;
        most_ = 2 * std::max(kFew, front_.size());
    }

    void refill() {
        while (filled_ != 0) {
            const int lowest = std::countr_zero(filled_);
            std::vector<Entry>& bucket = buckets_[static_cast<std::size_t>(lowest)];
            filled_ &= filled_ - 1;
            if (lowest == 0 || bucket.size() <= kFew) {
                std::swap(front_, bucket);
                std::ranges::sort(front_, std::greater<>());
                begin_front(top().time, lowest);
                return;
            }
            spread_.swap(bucket);
            spread();
        }
    }

    /// Keeps the earliest of a front that others have joined. What is before start_, by which the
    /// buckets go, stays as it is: it has come between the last one taken and the front.
    void shorten() {
        if (start_ <= 0 && front_.back().time < 0) {
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
        spread();
        refill();
    }
    void spread() {
        start_ = std::ranges::min_element(spread_, {}, &Entry::time)->time;
        for (const Entry& entry : spread_) put(entry);
        spread_.clear();
    }

    std::vector<Entry> front_;  ///< sorted, the earliest last: what is possible before end_
    Bits end_ = 0;
    Time start_ = 0;  ///< not after anything in the buckets, which go by it
    Time last_ = 0;   ///< taken
    std::size_t most_ = kFew;
    std::array<std::vector<Entry>, 64> buckets_;  ///< times have 63 bits
    Bits filled_ = 0;                             ///< which of them are not empty, a bit each
    std::vector<Entry> spread_;
};

}  // namespace weft::plan
