// SPDX-License-Identifier: BSD-3-Clause
#include "link/wire/arrivals.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.hpp"

namespace weft::link {

using SharedWord = std::atomic_ref<std::uint64_t>;  ///< word to which the network may write

Arrivals::Arrivals(std::span<std::byte* const> segments, Rank rank, std::uint64_t cells_end,
                   FabricPort* port, WriteCounts& counts)
    : segments_(segments),
      own_(segments[rank]),
      lines_(cells_end / sizeof(base::Cell)),
      port_(port),
      counts_(counts) {
    if (port == nullptr) return;
    WEFT_CHECK(lines_ < (std::size_t{1} << 30), lines_);
    plan_ = port->facts().notify;
    counters_ = port->facts().counters;
    if (plan_.large != Notify::immediate) return;
    missing_.reset(static_cast<std::int32_t*>(std::calloc(lines_, sizeof(std::int32_t))));
    WEFT_CHECK(missing_ != nullptr, lines_);
}

void Arrivals::distrust(Rank rank, const char* what) noexcept {
    if (failure_) return;
    fail(rank < 0 ? base::fail(Status::peer, "an unknown sender sent {}", what)
                  : base::fail(Status::peer, "rank {} sent {}", rank, what));
}

void Arrivals::forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (missing_ == nullptr) return;
    const std::size_t first = offset / sizeof(base::Cell);
    std::fill_n(missing_.get() + first, bytes / sizeof(base::Cell), 0);
}

void Arrivals::deliver(std::uint64_t immediate, const WireService& service) noexcept {
    if ((immediate & kHasPayload) != 0) {
        if (service.on_immediate == nullptr)
            return distrust(-1, "an immediate that this rank has no handler for");
        return service.on_immediate(service.argument, immediate & ~kHasPayload);
    }
    const auto line = static_cast<std::size_t>(immediate >> kArrivalBits);
    const Arrival arrival = arrival_of(immediate);
    if (arrival == Arrival::write) {  // `line` is then WriteCounts::immediate_to()'s number
        const std::size_t origin = line / WriteCounts::kBatches;
        if (origin >= segments_.size() || segments_[origin] != nullptr ||
            !counts_.add_delivered(origin, line % WriteCounts::kBatches))
            distrust(-1, "a write whose origin is not a remote rank");
        return;
    }
    if (line >= lines_) return distrust(-1, "an immediate for a cell outside the segment");
    if (arrival != Arrival::whole && missing_ == nullptr)
        return distrust(-1, "a piece of a put, but this network does not divide puts");
    if (arrival != Arrival::whole && !count_pieces(line, arrival))
        return distrust(-1, "a put of too many pieces");
    if (arrival != Arrival::whole && missing_[line] != 0) return;
    auto* cell = reinterpret_cast<base::Cell*>(own_ + line * sizeof(base::Cell));
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(cell->delivered, std::memory_order_release);
}

/// Counts a piece, or adds the number of pieces from a header. Returns false if the count is out of
/// range. Pieces may be delivered before their header. A faulty sender may send several headers.
bool Arrivals::count_pieces(std::size_t line, Arrival arrival) noexcept {
    constexpr std::int64_t kPiecesMax = std::int64_t{1} << 30;
    std::int64_t more = -1;
    if (arrival == Arrival::header) {
        std::memcpy(&more, own_ + line * sizeof(base::Cell) + base::kCellPayloadOffset,
                    sizeof more);
        if (more < 0 || more > kPiecesMax) return false;
    }
    const std::int64_t missing = missing_[line] + more;
    if (missing > kPiecesMax || missing < -kPiecesMax) return false;
    missing_[line] = static_cast<std::int32_t>(missing);
    return true;
}

/// Raises the flag of a cell if all words of a put have the put's tag. No older word of the landing
/// can have this tag, because words are cleared after reading. By the rule for the reuse of banks
/// (docs/one-sided.md), no rank writes to this cell again before this rank has completed the call.
void Arrivals::check_words(std::uint64_t offset) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + offset);
    auto* landing = reinterpret_cast<base::Landing*>(own_ + offset + base::kLandingOffset);
    // Acquire, also for the other words: after a word's tag, its data is visible.
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

/// Raises the flag of a cell if the counter that the put's header names has counted the whole put.
/// The header and its complement are two words, both zero before the put. A partial write leaves
/// bytes of zero, so the header is complete when the second word is the complement of the first.
/// The origin uses the counter for a later put only after this put is delivered.
void Arrivals::check_counted(std::uint64_t offset) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + offset);
    auto* landing = reinterpret_cast<base::Landing*>(own_ + offset + base::kLandingOffset);
    const std::uint64_t header = SharedWord(landing->words[1]).load(std::memory_order_acquire);
    if (SharedWord(landing->words[2]).load(std::memory_order_acquire) != ~header) return;
    const std::size_t origin = origin_of_header(header);
    const std::uint32_t counter = counter_of_header(header);
    if (origin >= segments_.size() || segments_[origin] != nullptr || counter >= counters_)
        return distrust(-1, "a counted put whose origin or counter does not exist");
    const auto counted =
        static_cast<std::uint32_t>(port_->landed(static_cast<Rank>(origin), counter));
    // The low half of the header is the value that the counter reaches; both wrap around.
    if (static_cast<std::int32_t>(counted - static_cast<std::uint32_t>(header)) < 0) return;
    std::memcpy(cell->payload, &landing->words[3], sizeof cell->payload);
    SharedWord(landing->words[1]).store(0, std::memory_order_relaxed);
    SharedWord(landing->words[2]).store(0, std::memory_order_relaxed);
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(landing->words[0], std::memory_order_release);
}

/// Copies a flag word that the network delivered after the data. The word may be torn: some bytes
/// may still have the earlier flag. A torn word satisfies no wait, because a wait compares all 64
/// bits. `taken` prevents an old word from overwriting the flag of a local writer.
void Arrivals::check_delivered(std::uint64_t offset) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(own_ + offset);
    auto* landing = reinterpret_cast<base::Landing*>(own_ + offset + base::kLandingOffset);
    // Acquire: makes data visible that the network delivered before this word.
    const base::FlagWord delivered = SharedWord(cell->delivered).load(std::memory_order_acquire);
    if (delivered == landing->taken) return;
    landing->taken = delivered;
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(delivered, std::memory_order_release);
}

}  // namespace weft::link
