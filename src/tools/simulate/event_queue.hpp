// SPDX-License-Identifier: BSD-3-Clause
// event_queue.hpp - priority queue of events, for times that never decrease.
//
// Idea     A radix heap: the bucket of an event is the number of the highest bit in which its time
//          differs from the time of the last pop(). When bucket 0 is empty, the lowest bucket with
//          events is redistributed. An event moves down at most 64 times, usually a few times.
// Source   Ahuja, Mehlhorn, Orlin and Tarjan, Faster algorithms for the shortest
//          path problem, 1990.
// Holds    push() needs a time not before the last pop. The order of events with equal times
//          depends only on the order of pushes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "plan/select/model.hpp"

namespace weft::lab {

using plan::Time;

struct Event {
    Time time = 0;
    std::uint32_t what = 0;    ///< meaning is defined by the engine
    std::uint32_t detail = 0;  ///< meaning is defined by the engine
};

class EventQueue {
  public:
    [[nodiscard]] bool empty() const { return size_ == 0; }

    void push(const Event& event) {
        buckets_[bucket_of(event.time)].push_back(event);
        ++size_;
    }

    Event pop() {
        std::vector<Event>& front = buckets_[0];
        if (front.empty()) refill();
        const Event event = front.back();
        front.pop_back();
        --size_;
        return event;
    }

  private:
    [[nodiscard]] std::size_t bucket_of(Time time) const {
        return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time ^ last_)));
    }

    void refill() {
        std::size_t lowest = 1;
        while (buckets_[lowest].empty()) ++lowest;
        std::vector<Event>& bucket = buckets_[lowest];
        Time first = bucket.front().time;
        for (const Event& event : bucket) first = std::min(first, event.time);
        last_ = first;
        for (const Event& event : bucket) buckets_[bucket_of(event.time)].push_back(event);
        bucket.clear();
    }

    std::array<std::vector<Event>, 65> buckets_;
    Time last_ = 0;  ///< time of bucket 0
    std::size_t size_ = 0;
};

}  // namespace weft::lab
