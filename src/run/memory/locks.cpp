// SPDX-License-Identifier: BSD-3-Clause
// locks.cpp - locks of a team: Mellor-Crummey and Scott queues, in a word of symmetric memory.
//
// Idea     Each member's word has two halves. The upper half is used only on the lock's home
//          member: it holds rank + 1 of the last member in the queue, or 0 if the lock is free. The
//          lower half holds rank + 1 of the member's successor in the queue. Its top bit is set
//          when the member gets the lock. A new waiter swaps its number into the upper half, and
//          adds its number to its predecessor's lower half. unlock() of the predecessor sets the
//          top bit in the waiter's word.
// Holds    The words are 0 before the lock's first use and after its last use. Locking costs at
//          most two atomic operations on other members, unlocking one or two.
#include <atomic>

#include "run/memory/remote_memory.hpp"

namespace weft::run {

namespace {

constexpr std::uint32_t kGranted = std::uint32_t{1} << 31;  // top bit: the member has the lock

std::uint32_t* successor_half(std::uint64_t* word) {
    return reinterpret_cast<std::uint32_t*>(word);
}
std::uint32_t* last_half(std::uint64_t* word) {
    return reinterpret_cast<std::uint32_t*>(word) + 1;
}

std::atomic_ref<std::uint32_t> own(std::uint64_t* word) {
    return std::atomic_ref<std::uint32_t>(*successor_half(word));
}

WordChange change_half(RequestKind kind, std::uint32_t* word, std::uint32_t operand,
                       std::uint32_t compare = 0) {
    return {kind, word, sizeof *word, operand, compare};
}

}  // namespace

/// Returns the lock's home member, which depends on the lock's offset.
base::Result<Rank> RemoteMemory::home_of(std::string_view call, std::uint64_t* word) {
    const auto target = WEFT_TRY(find_word(call, "lock", word, sizeof *word, 0));
    if (services_.heap_offset(word) == link::kNoOffset)
        return base::fail(Status::argument, "{}: lock: {} is not symmetric memory", call,
                          static_cast<const void*>(word));
    return static_cast<Rank>(target.remote.offset / sizeof *word %
                             static_cast<std::uint64_t>(team_.size()));
}

base::Result<void> RemoteMemory::lock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("lock", word));
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    own(word).store(0, std::memory_order_relaxed);
    const auto before = WEFT_TRY(change(change_half(RequestKind::swap, last_half(word), me), home));
    if (before == 0) return {};
    auto notified = apply(change_half(RequestKind::bor, successor_half(word), me),
                          static_cast<Rank>(before) - 1);
    if (!notified) return notified;
    WEFT_TRY(waits().all({.word = successor_half(word),
                          .width = sizeof(std::uint32_t),
                          .compare = Compare::ge,
                          .value = kGranted}));
    own(word).fetch_and(~kGranted, std::memory_order_relaxed);
    return {};
}

base::Result<bool> RemoteMemory::try_lock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("lock", word));
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    own(word).store(0, std::memory_order_relaxed);
    const auto before =
        WEFT_TRY(change(change_half(RequestKind::compare_swap, last_half(word), me), home));
    return before == 0;
}

/// First completes this rank's puts, so that the next holder of the lock sees them.
base::Result<void> RemoteMemory::unlock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("lock", word));
    WEFT_TRY(quiet());
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    if (own(word).load(std::memory_order_acquire) == 0) {
        const auto last =
            WEFT_TRY(change(change_half(RequestKind::compare_swap, last_half(word), 0, me), home));
        if (last == me) return {};
        if (last == 0)
            return base::fail(Status::argument, "unlock: this rank does not hold the lock {}",
                              static_cast<const void*>(word));
    }
    const auto next = WEFT_TRY(waits().all({.word = successor_half(word),
                                            .width = sizeof(std::uint32_t),
                                            .compare = Compare::ne,
                                            .value = 0}));
    own(word).store(0, std::memory_order_relaxed);
    return apply(change_half(RequestKind::bor, successor_half(word), kGranted),
                 static_cast<Rank>(next) - 1);
}

}  // namespace weft::run
