// SPDX-License-Identifier: BSD-3-Clause
// locks.cpp - locks of a team: queues in one word of symmetric memory on each member
// (Mellor-Crummey and Scott).
//
// Idea     Each member's word has two halves. The upper half is used only on the lock's home
//          member. It holds the last rank in the queue, counted from 1, or 0 if the lock is free.
//          The lower half holds the member's successor in the queue, counted from 1. Its top bit
//          shows that the lock has been passed to the member. A new waiter swaps itself in as the
//          last, and tells its predecessor, which passes the lock on when it unlocks.
// Holds    The words are 0 when the lock is made and after its last use. Each waiter has one
//          predecessor, so locking costs two atomic operations, and unlocking one or two.
#include <atomic>

#include "run/memory/remote_memory.hpp"
#include "run/team/team.hpp"

namespace weft::run {

namespace {

constexpr std::uint32_t kGranted = std::uint32_t{1} << 31;

std::uint32_t* place_in_queue(std::uint64_t* word) {
    return reinterpret_cast<std::uint32_t*>(word);
}
std::uint32_t* last_in_queue(std::uint64_t* word) {
    return reinterpret_cast<std::uint32_t*>(word) + 1;
}

std::atomic_ref<std::uint32_t> own(std::uint64_t* word) {
    return std::atomic_ref<std::uint32_t>(*place_in_queue(word));
}

WordChange narrow(RequestKind kind, std::uint32_t* word, std::uint32_t operand,
                  std::uint32_t compare = 0) {
    return {kind, word, sizeof *word, operand, compare};
}

}  // namespace

/// Returns the home of a lock. Locks at different offsets have different homes.
base::Result<Rank> RemoteMemory::home_of(std::string_view call, std::uint64_t* word) {
    const auto found = place_of_word(call, "lock", word, sizeof *word, 0);
    if (!found) return found.failure();
    if (services_.heap_offset(word) == link::kNoOffset)
        return base::fail(Status::argument, "{}: lock: {} is not symmetric memory", call,
                          static_cast<const void*>(word));
    return static_cast<Rank>(found->place.offset / sizeof *word %
                             static_cast<std::uint64_t>(team_.size()));
}

base::Result<void> RemoteMemory::lock(std::uint64_t* word) {
    const auto home = home_of("lock", word);
    if (!home) return home.failure();
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    own(word).store(0, std::memory_order_relaxed);
    const auto before = change(narrow(RequestKind::swap, last_in_queue(word), me), *home);
    if (!before) return before.failure();
    if (*before == 0) return {};
    auto told =
        apply(narrow(RequestKind::bor, place_in_queue(word), me), static_cast<Rank>(*before) - 1);
    if (!told) return told;
    const auto granted = waits().all({.word = place_in_queue(word),
                                      .width = sizeof(std::uint32_t),
                                      .compare = Compare::ge,
                                      .value = kGranted});
    if (!granted) return granted.failure();
    own(word).fetch_and(~kGranted, std::memory_order_relaxed);
    return {};
}

base::Result<bool> RemoteMemory::try_lock(std::uint64_t* word) {
    const auto home = home_of("lock", word);
    if (!home) return home.failure();
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    own(word).store(0, std::memory_order_relaxed);
    const auto before = change(narrow(RequestKind::compare_swap, last_in_queue(word), me), *home);
    if (!before) return before.failure();
    return *before == 0;
}

/// Completes this rank's puts before the next member gets the lock.
base::Result<void> RemoteMemory::unlock(std::uint64_t* word) {
    const auto home = home_of("lock", word);
    if (!home) return home.failure();
    if (auto settled = quiet(); !settled) return settled;
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    if (own(word).load(std::memory_order_acquire) == 0) {
        const auto last =
            change(narrow(RequestKind::compare_swap, last_in_queue(word), 0, me), *home);
        if (!last) return last.failure();
        if (*last == me) return {};
        if (*last == 0)
            return base::fail(Status::argument, "unlock: this rank does not hold the lock {}",
                              static_cast<const void*>(word));
    }
    const auto next = waits().all({.word = place_in_queue(word),
                                   .width = sizeof(std::uint32_t),
                                   .compare = Compare::ne,
                                   .value = 0});
    if (!next) return next.failure();
    own(word).store(0, std::memory_order_relaxed);
    return apply(narrow(RequestKind::bor, place_in_queue(word), kGranted),
                 static_cast<Rank>(*next) - 1);
}

}  // namespace weft::run
