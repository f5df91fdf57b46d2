// SPDX-License-Identifier: BSD-3-Clause
// locks.cpp - locks of a team: Mellor-Crummey and Scott (MCS) queues in a word of symmetric memory.
//
// Idea     A member's number is its rank + 1. Each member's word has two halves. The upper half is
//          used only on the lock's home member: it holds the number of the last member in the
//          queue, or 0 if the lock is free. The lower half holds the number of the member's
//          successor in the queue, and kGranted while the member has the lock. A new waiter swaps
//          its number into the upper half, and stores it in its predecessor's lower half. unlock()
//          of the predecessor sets kGranted in the waiter's word.
//          A rank has one place in the queue, so its threads take turns.
// Holds    The words are 0 before the lock's first use and after its last use. lock() makes one or
//          two atomic operations on other members, unlock() one or two.
#include <atomic>

#include "run/job/real_engine.hpp"
#include "run/memory/remote_memory.hpp"

namespace weft::run {

namespace {

constexpr std::uint32_t kGranted = std::uint32_t{1} << 31;

std::uint32_t* successor_half(std::uint64_t* word) {
    return reinterpret_cast<std::uint32_t*>(word);
}
std::uint32_t* last_half(std::uint64_t* word) {
    return reinterpret_cast<std::uint32_t*>(word) + 1;
}

/// Returns the lower half of this rank's word.
std::atomic_ref<std::uint32_t> own_successor(std::uint64_t* word) {
    return std::atomic_ref<std::uint32_t>(*successor_half(word));
}

/// Returns the condition for which this rank waits in the lower half of its word.
WordWait own_wait(std::uint64_t* word, Compare compare, std::uint32_t value) {
    return {
        .word = successor_half(word), .width = sizeof value, .compare = compare, .value = value};
}

WordChange change_half(RequestKind kind, std::uint32_t* word, std::uint32_t operand,
                       std::uint32_t compare = 0) {
    return {kind, word, sizeof *word, operand, compare};
}

}  // namespace

/// Returns the lock's home member. It depends on the lock's offset, to spread locks over members.
base::Result<Rank> RemoteMemory::home_of(std::string_view call, std::uint64_t* word) {
    const auto target = WEFT_TRY(find_word(call, "lock", word, sizeof *word, 0));
    if (services_.heap_offset(word) == link::kNoOffset)
        return base::fail(Status::argument, "{}: lock: {} is not symmetric memory", call,
                          static_cast<const void*>(word));
    return static_cast<Rank>(target.remote.offset / sizeof *word %
                             static_cast<std::uint64_t>(team_.size()));
}

/// Waits until no other thread of this rank uses the lock.
base::Result<void> RemoteMemory::enter_lock(const std::uint64_t* word) {
    RealEngine& engine = services_.engine;
    const Turn::Hold hold = engine.take_turn();
    const auto waits = [] { return std::string("lock: waiting for another thread of this rank"); };
    if (engine.await([&] { return services_.locks.insert(word).second; }, waits)) return {};
    return engine.failure();
}

bool RemoteMemory::try_enter_lock(const std::uint64_t* word) {
    const Turn::Hold hold = services_.engine.take_turn();
    return services_.locks.insert(word).second;
}

void RemoteMemory::leave_lock(const std::uint64_t* word) {
    const Turn::Hold hold = services_.engine.take_turn();
    services_.locks.erase(word);
}

base::Result<void> RemoteMemory::lock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("lock", word));
    WEFT_TRY(enter_lock(word));
    auto locked = wait_in_queue(word, home);
    if (!locked) leave_lock(word);
    return locked;
}

base::Result<void> RemoteMemory::wait_in_queue(std::uint64_t* word, Rank home) {
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    const auto predecessor =
        WEFT_TRY(change(change_half(RequestKind::swap, last_half(word), me), home));
    if (predecessor == 0) {
        own_successor(word).fetch_or(kGranted, std::memory_order_relaxed);
        return {};
    }
    WEFT_TRY(apply(change_half(RequestKind::bor, successor_half(word), me),
                   static_cast<Rank>(predecessor) - 1));
    WEFT_TRY(waits().all(own_wait(word, Compare::ge, kGranted)));
    return {};
}

base::Result<bool> RemoteMemory::try_lock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("try_lock", word));
    if (!try_enter_lock(word)) {
        services_.progress.drive();  // the holder, another thread, may wait for a message
        return false;
    }
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    const auto last = change(change_half(RequestKind::compare_swap, last_half(word), me), home);
    const bool locked = last && *last == 0;
    if (locked)
        own_successor(word).fetch_or(kGranted, std::memory_order_relaxed);
    else
        leave_lock(word);
    if (!last) return last.failure();
    return locked;
}

base::Result<void> RemoteMemory::unlock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("unlock", word));
    if (own_successor(word).load(std::memory_order_relaxed) < kGranted)
        return base::fail(Status::argument, "unlock: this rank does not hold the lock {}",
                          static_cast<const void*>(word));
    WEFT_TRY(quiet());  // the next holder of the lock must see this rank's puts
    WEFT_TRY(pass_on(word, home));
    leave_lock(word);
    return {};
}

/// Grants the lock to the next member in the queue, or frees it.
base::Result<void> RemoteMemory::pass_on(std::uint64_t* word, Rank home) {
    const auto me = static_cast<std::uint32_t>(team_.rank()) + 1;
    const auto held = own_successor(word).fetch_and(~kGranted, std::memory_order_acq_rel);
    if (held == kGranted) {  // no successor yet
        const auto last =
            WEFT_TRY(change(change_half(RequestKind::compare_swap, last_half(word), 0, me), home));
        if (last == me) return {};
    }
    // The successor may not have stored its number yet.
    const auto successor = WEFT_TRY(waits().all(own_wait(word, Compare::ne, 0)));
    own_successor(word).store(0, std::memory_order_relaxed);
    return apply(change_half(RequestKind::bor, successor_half(word), kGranted),
                 static_cast<Rank>(successor) - 1);
}

}  // namespace weft::run
