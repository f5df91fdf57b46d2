// SPDX-License-Identifier: BSD-3-Clause
// time_slots.hpp - entries of a span of time in slots of equal length.
//
// Idea     The number of slots is about the number of entries, so a slot has one or two entries,
//          in a linked list. A bit mask marks the slots with entries.
// Holds    Slots are emptied in order. Entries are put only into slots after the last emptied slot.
// Next     time_queue.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::lab {

template <class Entry>
class TimeSlots {
  public:
    using Bits = std::uint64_t;

    [[nodiscard]] bool empty() const { return size_ == 0; }
    /// Returns the first time without a slot.
    [[nodiscard]] Bits end() const { return end_; }
    /// Returns the length of each slot.
    [[nodiscard]] Bits length() const { return Bits{1} << shift_; }
    /// Removes all slots.
    void clear() { end_ = 0; }

    /// Lays out slots for times from `first` to at least `last`, before `end`. The table is empty.
    void lay_out(Bits first, Bits last, Bits end, std::size_t entries) {
        const std::size_t count = std::bit_ceil(std::clamp(entries, kWord, kSlotsMax));
        start_ = first;
        shift_ = std::max(0, static_cast<int>(std::bit_width(last - first)) -
                                 static_cast<int>(std::bit_width(count - 1)));
        end_ = std::min(first + (Bits{count} << shift_), end);
        heads_.assign(count, kNone);
        filled_.assign(count / kWord, 0);
        word_ = 0;
        links_.clear();
        free_ = kNone;
    }
    void put(Bits time, const Entry& entry) {
        const auto slot = static_cast<std::size_t>((time - start_) >> shift_);
        std::uint32_t at = free_;
        if (at == kNone) {
            at = static_cast<std::uint32_t>(links_.size());
            links_.push_back({entry, heads_[slot]});
        } else {
            free_ = links_[at].next;
            links_[at] = {entry, heads_[slot]};
        }
        heads_[slot] = at;
        filled_[slot / kWord] |= Bits{1} << slot % kWord;
        ++size_;
    }
    /// Moves the entries of the first slot with entries to `into`; returns the end of this slot.
    Bits take_first(std::vector<Entry>& into) {
        while (filled_[word_] == 0) ++word_;
        const std::size_t slot =
            word_ * kWord + static_cast<std::size_t>(std::countr_zero(filled_[word_]));
        filled_[word_] &= filled_[word_] - 1;
        std::uint32_t last = kNone;
        for (std::uint32_t at = heads_[slot]; at != kNone; at = links_[at].next) {
            into.push_back(links_[at].entry);
            --size_;
            last = at;
        }
        links_[last].next = free_;
        free_ = heads_[slot];
        heads_[slot] = kNone;
        return std::min(start_ + (Bits{slot + 1} << shift_), end_);
    }

  private:
    static constexpr std::size_t kWord = 64;                        ///< slots of a word of filled_
    static constexpr std::size_t kSlotsMax = std::size_t{1} << 16;  ///< largest number of slots
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    struct Link {
        Entry entry;
        std::uint32_t next = kNone;
    };

    Bits start_ = 0;
    Bits end_ = 0;
    int shift_ = 0;
    std::vector<std::uint32_t> heads_;
    std::vector<Bits> filled_;  ///< bit mask of the slots with entries
    std::size_t word_ = 0;      ///< words of filled_ before this index are 0
    std::vector<Link> links_;
    std::uint32_t free_ = kNone;  ///< first unused link
    std::size_t size_ = 0;        ///< number of entries in all slots
};

}  // namespace weft::lab
