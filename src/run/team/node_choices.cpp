// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/node_choices.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "base/random.hpp"
#include "run/job/layout.hpp"

namespace weft::run {

namespace {

/// Two hashes of a key. Entries hold these instead of the key's text.
struct Hashes {
    std::uint64_t low;  ///< never 0
    std::uint64_t high;
};

Hashes hashes_of(std::string_view key) {
    Hashes hashes{base::mix(key.size()), ~key.size()};
    for (std::size_t at = 0; at < key.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, key.data() + at, std::min(sizeof word, key.size() - at));
        hashes.low = base::mix(hashes.low ^ word);
        hashes.high = base::mix(hashes.high + word + 1);
    }
    hashes.low |= 1;
    return hashes;
}

// States of a slot.
constexpr std::uint64_t kReserved = 0;
constexpr std::uint64_t kPublished = 1;
constexpr std::uint64_t kUnusable = 2;  // the choice failed, or its texts did not fit

struct ChoiceSlot {
    std::atomic<std::uint64_t> low;    ///< hash of the key; 0: the slot is free
    std::atomic<std::uint64_t> state;  ///< the following members are valid if kPublished
    std::uint64_t high;
    std::uint16_t algorithm_bytes;
    std::uint16_t reason_bytes;
    char text[NodeChoices::kEntryBytes - 28];  ///< the algorithm, then the reason
};
static_assert(sizeof(ChoiceSlot) == NodeChoices::kEntryBytes);
static_assert(NodeChoices::kBytes == SegmentLayout::kChoicesBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// find_or_reserve() compares low hashes only: `slot` may have another key, which await() notices.
struct Found {
    ChoiceSlot* slot = nullptr;  ///< nullptr: no slot is free
    bool reserved_here = false;  ///< this rank has reserved it and must publish() its choice
};

Found find_or_reserve(std::byte* table, const Hashes& key) {
    constexpr std::uint64_t kProbes = 8;
    for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
        const std::uint64_t number = (key.high + probe) % NodeChoices::kEntries;
        auto* const slot = reinterpret_cast<ChoiceSlot*>(table + number * NodeChoices::kEntryBytes);
        std::uint64_t low = 0;
        if (slot->low.compare_exchange_strong(low, key.low)) return {slot, true};
        if (low == key.low) return {slot, false};
    }
    return {};
}

void publish(ChoiceSlot& slot, const Hashes& key, const base::Result<ChoiceText>& entry) {
    std::uint64_t state = kUnusable;
    if (entry && entry->algorithm.size() + entry->reason.size() <= sizeof slot.text) {
        state = kPublished;
        slot.high = key.high;
        slot.algorithm_bytes = static_cast<std::uint16_t>(entry->algorithm.size());
        slot.reason_bytes = static_cast<std::uint16_t>(entry->reason.size());
        std::ranges::copy(entry->algorithm + entry->reason, slot.text);
    }
    slot.state.store(state, std::memory_order_release);
}

/// Returns the choice that another rank publishes for this key within the limit, or nothing.
std::optional<ChoiceText> await(const ChoiceSlot& slot, const Hashes& key,
                                std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    std::chrono::microseconds pause{20};
    constexpr std::chrono::microseconds kPauseMax{500};
    while (slot.state.load(std::memory_order_acquire) == kReserved) {
        if (std::chrono::steady_clock::now() >= end) return {};
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kPauseMax);
    }
    if (slot.state.load(std::memory_order_acquire) != kPublished || slot.high != key.high)
        return {};
    const std::string text(slot.text, std::size_t{slot.algorithm_bytes} + slot.reason_bytes);
    return ChoiceText{text.substr(0, slot.algorithm_bytes), text.substr(slot.algorithm_bytes)};
}

}  // namespace

base::Result<ChoiceText> NodeChoices::get(
    std::string_view key, const std::function<base::Result<ChoiceText>()>& compute) const {
    if (table_ == nullptr) return compute();
    const Hashes hashes = hashes_of(key);
    const Found found = find_or_reserve(table_, hashes);
    if (found.slot == nullptr) return compute();
    if (!found.reserved_here) {
        if (auto entry = await(*found.slot, hashes, wait_)) return *std::move(entry);
        return compute();
    }
    auto entry = compute();
    publish(*found.slot, hashes, entry);
    return entry;
}

}  // namespace weft::run
