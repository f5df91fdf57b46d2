// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/node_choices.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "base/random.hpp"
#include "run/job/layout.hpp"

namespace weft::run {

namespace {

/// Returns a hash of a key, never 0. Entries hold it instead of the key's text.
std::uint64_t hash_of(std::string_view key) {
    std::uint64_t hash = key.size();
    for (const char c : key) hash = base::mix(hash ^ static_cast<unsigned char>(c));
    return hash == 0 ? 1 : hash;
}

// States of a slot.
constexpr std::uint64_t kReserved = 0;
constexpr std::uint64_t kPublished = 1;
constexpr std::uint64_t kUnusable = 2;  // the choice failed, or its texts did not fit

struct ChoiceSlot {
    std::atomic<std::uint64_t> key;    ///< hash of the key; 0: the slot is free
    std::atomic<std::uint64_t> state;  ///< the following members are valid if kPublished
    std::uint16_t algorithm_bytes;
    std::uint16_t reason_bytes;
    char text[NodeChoices::kEntryBytes - 20];  ///< the algorithm, then the reason
};
static_assert(sizeof(ChoiceSlot) == NodeChoices::kEntryBytes);
static_assert(NodeChoices::kBytes == SegmentLayout::kChoicesBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

void publish(ChoiceSlot& slot, const base::Result<ChoiceText>& entry) {
    std::uint64_t state = kUnusable;
    if (entry && entry->algorithm.size() + entry->reason.size() <= sizeof slot.text) {
        state = kPublished;
        slot.algorithm_bytes = static_cast<std::uint16_t>(entry->algorithm.size());
        slot.reason_bytes = static_cast<std::uint16_t>(entry->reason.size());
        std::ranges::copy(entry->algorithm + entry->reason, slot.text);
    }
    slot.state.store(state, std::memory_order_release);
}

/// Returns the choice that another rank publishes in the slot within the limit, or nothing.
std::optional<ChoiceText> await(const ChoiceSlot& slot, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    std::chrono::microseconds pause{20};
    constexpr std::chrono::microseconds kPauseMax{500};
    while (slot.state.load(std::memory_order_acquire) == kReserved) {
        if (std::chrono::steady_clock::now() >= end) return {};
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kPauseMax);
    }
    if (slot.state.load(std::memory_order_acquire) != kPublished) return {};
    const std::string text(slot.text, std::size_t{slot.algorithm_bytes} + slot.reason_bytes);
    return ChoiceText{text.substr(0, slot.algorithm_bytes), text.substr(slot.algorithm_bytes)};
}

}  // namespace

base::Result<ChoiceText> NodeChoices::get(
    std::string_view key, const std::function<base::Result<ChoiceText>()>& compute) const {
    if (table_ == nullptr) return compute();
    const std::uint64_t hash = hash_of(key);
    constexpr std::uint64_t kProbes = 8;
    for (std::uint64_t probe = 0; probe < kProbes; ++probe) {
        const std::uint64_t number = (hash + probe) % kEntries;
        ChoiceSlot& slot = *reinterpret_cast<ChoiceSlot*>(table_ + number * kEntryBytes);
        std::uint64_t held = 0;
        if (slot.key.compare_exchange_strong(held, hash)) {
            auto entry = compute();
            publish(slot, entry);
            return entry;
        }
        if (held != hash) continue;
        if (auto entry = await(slot, wait_)) return *std::move(entry);
        break;
    }
    return compute();
}

}  // namespace weft::run
