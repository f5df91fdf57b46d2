// SPDX-License-Identifier: BSD-3-Clause
// delivery.cpp - the target's half of the notify strategies: from what has landed to a raised flag.
//
// Holds    A flag is raised, with release, only when the strategy has proven that all of its put is
//          there. The rank that waits for it may then read the payload.
// Next     docs/one-sided.md, section 3, for the proofs; far_put.cpp for the origin's half.
#include <atomic>
#include <cstring>

#include "base/check.hpp"
#include "link/wire/wire.hpp"
#include "link/wire/word_tag.hpp"

namespace weft::link {

namespace {

using SharedWord = std::atomic_ref<std::uint64_t>;  ///< written by a network

}  // namespace

void Wire::deliver(std::uint64_t immediate) noexcept {
    if ((immediate & kCarriesPayload) != 0) {
        WEFT_CHECK(on_immediate_ != nullptr, immediate);
        on_immediate_(service_, immediate & ~kCarriesPayload);
        return;
    }
    const auto line = static_cast<std::size_t>(immediate >> 2);
    if (static_cast<Delivered>(immediate & 3U) == Delivered::write) {
        ++batch_landed_[line];
        return;
    }
    auto* cell = reinterpret_cast<base::Cell*>(own_ + line * sizeof(base::Cell));
    switch (static_cast<Delivered>(immediate & 3U)) {
        case Delivered::write:
        case Delivered::all:
            break;
        case Delivered::piece:
            if (--missing_[line] != 0) return;
            break;
        case Delivered::header: {
            std::uint64_t pieces = 0;
            std::memcpy(&pieces, cell->payload, sizeof pieces);
            missing_[line] += static_cast<std::int32_t>(pieces);
            if (missing_[line] != 0) return;
            break;
        }
    }
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(cell->delivered, std::memory_order_release);
}

/// All words of a put carry its tag, and no other word of the landing can: what was read is
/// cleared, and no rank writes here again before this rank has completed the call (the bank rule).
void Wire::take_words(std::uint64_t offset) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + offset);
    auto* landing = reinterpret_cast<base::Landing*>(own_ + offset + base::kLandingOffset);
    // Acquire, here and below: a word's data was written with its tag or before it.
    const std::uint64_t first = SharedWord(landing->words[0]).load(std::memory_order_acquire);
    const std::uint32_t tag = tag_of_word(first);
    const std::size_t count = words_of_tag(tag);
    if (count < kFlagWords || count > base::Landing::kWords) return;
    std::uint32_t data[base::Landing::kWords];
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t word = SharedWord(landing->words[i]).load(std::memory_order_acquire);
        if (tag_of_word(word) != tag) return;
        data[i] = static_cast<std::uint32_t>(word);
    }
    for (std::size_t i = 0; i < count; ++i)
        SharedWord(landing->words[i]).store(0, std::memory_order_relaxed);
    base::FlagWord flag = 0;
    std::memcpy(&flag, data, sizeof flag);
    std::memcpy(cell->payload, data + kFlagWords, (count - kFlagWords) * kWordData);
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(flag, std::memory_order_release);
}

/// The flag word came after its data, so it may be raised as soon as it is seen. It may be seen
/// torn, half of it still that of an earlier use: that raises a flag that no wait expects, because
/// a wait compares for equality with the word that is being written, and a mixture equal to that
/// word is that word. `taken` keeps a word that was raised long ago from erasing the flag of a near
/// writer.
void Wire::take_delivered(std::uint64_t offset) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + offset);
    auto* landing = reinterpret_cast<base::Landing*>(own_ + offset + base::kLandingOffset);
    // Acquire: the data that the strategy has put before this word is visible with it.
    const base::FlagWord landed = SharedWord(cell->delivered).load(std::memory_order_acquire);
    if (landed == landing->taken) return;
    landing->taken = landed;
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(landed, std::memory_order_release);
}

}  // namespace weft::link
