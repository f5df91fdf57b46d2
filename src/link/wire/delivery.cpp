// SPDX-License-Identifier: BSD-3-Clause
// delivery.cpp - the target's half of the notify strategies: raises flags for delivered puts.
//
// Holds    A flag is raised, with release, only when the strategy has proven that its whole put is
//          delivered. The rank that waits for it may then read the payload.
// Next     docs/one-sided.md, section 3, for the proofs; far_put.cpp for the origin's half.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "link/wire/wire.hpp"
#include "link/wire/word_tag.hpp"

namespace weft::link {

namespace {

using SharedWord = std::atomic_ref<std::uint64_t>;  ///< written by a network

}  // namespace

void Wire::distrust(Rank rank, const char* what) noexcept {
    if (distrust_) return;
    distrust_ = rank < 0
                    ? base::fail(Status::peer, "the network brought {}, by an unknown sender", what)
                    : base::fail(Status::peer, "rank {} sent {}", rank, what);
}

void Wire::forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (missing_ == nullptr) return;
    const std::size_t first = offset / sizeof(base::Cell);
    std::fill_n(missing_.get() + first, bytes / sizeof(base::Cell), 0);
}

/// Handles an immediate. Any process that reaches this rank's endpoint can send one, so all of
/// it is checked.
void Wire::deliver(std::uint64_t immediate) noexcept {
    if ((immediate & kCarriesPayload) != 0) {
        if (on_immediate_ == nullptr) return distrust(-1, "a signal that was not agreed about");
        on_immediate_(service_, immediate & ~kCarriesPayload);
        return;
    }
    const auto line = static_cast<std::size_t>(immediate >> 2);
    const auto landed = static_cast<Delivered>(immediate & 3U);
    if (landed == Delivered::write) {
        const std::size_t origin = line / kBatches;
        if (origin >= batch_landed_.size() || near_[origin] != nullptr)
            return distrust(-1, "a write in the name of no far rank");
        auto& landed_of = batch_landed_[origin];
        if (landed_of == nullptr)
            landed_of = std::make_unique<std::array<std::uint32_t, kBatches>>();
        ++(*landed_of)[line % kBatches];
        return;
    }
    if (line >= lines_) return distrust(-1, "a notice of a cell outside the segment");
    deliver_to(line, landed);
}

/// Counts a piece or a header. Pieces may be delivered before the header with their number. Foreign
/// senders may send several headers.
bool Wire::count_pieces(std::size_t line, Delivered landed) noexcept {
    constexpr std::int64_t kPiecesMax = std::int64_t{1} << 30;
    std::int64_t more = -1;
    if (landed == Delivered::header) {
        std::memcpy(&more, own_ + line * sizeof(base::Cell) + base::kCellPayloadOffset,
                    sizeof more);
        if (more < 0 || more > kPiecesMax) return false;
    }
    const std::int64_t missing = missing_[line] + more;
    if (missing > kPiecesMax || missing < -kPiecesMax) return false;
    missing_[line] = static_cast<std::int32_t>(missing);
    return true;
}

void Wire::deliver_to(std::size_t line, Delivered landed) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + line * sizeof(base::Cell));
    if (landed != Delivered::all && missing_ == nullptr)
        return distrust(-1, "a piece of a put, where puts have none");
    if (landed != Delivered::all && !count_pieces(line, landed))
        return distrust(-1, "a put of too many pieces");
    if (landed != Delivered::all && missing_[line] != 0) return;
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(cell->delivered, std::memory_order_release);
}

/// Raises a flag if all words of its put carry the put's tag. No other word of the landing area can
/// carry it: words are cleared after reading. By the bank rule, no rank writes here again before
/// this rank has completed the call.
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

/// Raises a flag if the counter in the header has counted the whole put. The header is
/// complete when its second word is the complement of its first. Both were zero before, and a
/// partial write leaves bytes of zero. The origin uses the counter for a later put only after
/// this one is delivered.
void Wire::take_counted(std::uint64_t offset) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + offset);
    auto* landing = reinterpret_cast<base::Landing*>(own_ + offset + base::kLandingOffset);
    const std::uint64_t header = SharedWord(landing->words[1]).load(std::memory_order_acquire);
    if (SharedWord(landing->words[2]).load(std::memory_order_acquire) != ~header) return;
    const std::size_t origin = origin_of_header(header);
    const std::uint32_t counter = counter_of_header(header);
    if (origin >= near_.size() || near_[origin] != nullptr || counter >= counters_)
        return distrust(-1, "a count in the name of no far rank");
    const auto landed =
        static_cast<std::uint32_t>(port_->landed(static_cast<Rank>(origin), counter));
    if (static_cast<std::int32_t>(landed - static_cast<std::uint32_t>(header)) < 0) return;
    std::memcpy(cell->payload, &landing->words[3], sizeof cell->payload);
    SharedWord(landing->words[1]).store(0, std::memory_order_relaxed);
    SharedWord(landing->words[2]).store(0, std::memory_order_relaxed);
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(landing->words[0], std::memory_order_release);
}

/// Raises a flag that was delivered after its data. A torn flag may be seen, with a part of an
/// earlier one. It satisfies no wait: a wait compares the whole word, so only the complete flag is
/// equal. `taken` prevents an old flag from overwriting the flag of a local writer.
void Wire::take_delivered(std::uint64_t offset) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + offset);
    auto* landing = reinterpret_cast<base::Landing*>(own_ + offset + base::kLandingOffset);
    // Acquire: makes the data visible that the strategy delivered before this word.
    const base::FlagWord landed = SharedWord(cell->delivered).load(std::memory_order_acquire);
    if (landed == landing->taken) return;
    landing->taken = landed;
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(landed, std::memory_order_release);
}

}  // namespace weft::link
