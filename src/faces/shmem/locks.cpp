// SPDX-License-Identifier: BSD-3-Clause
// locks.cpp - locks; PEs that wait for a lock are in a queue.
//
// Idea     The upper half of the lock's word at PE 0 has the number (PE + 1) of the last PE in the
//          queue; 0: the lock is free. A PE that requests the lock exchanges this half with its own
//          number. A nonzero old value names the predecessor. The PE then adds its number to
//          the lower half of the predecessor's word, and waits until the predecessor sets kGranted
//          in the lower half of the PE's word. This bit stays while the PE holds the lock.
// Holds    A waiting PE only polls its own memory. The word is 0 on all PEs when no PE holds the
//          lock or waits for it. PEs get the lock in the order of their exchanges.
#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

constexpr std::uint64_t kLast = std::uint64_t{1} << 32;     ///< factor of the upper half
constexpr std::uint64_t kGranted = std::uint64_t{1} << 31;  ///< the PE holds the lock
constexpr std::uint64_t kNext = kGranted - 1;               ///< mask: number of the successor
constexpr int kHome = 0;                                    ///< PE whose word has the upper half

using LockWord = unsigned long;
static_assert(sizeof(LockWord) == 8);

/// Replaces the upper half at PE 0 by `last`, if it equals `expected` or `unconditional` is set.
struct Exchange {
    std::uint64_t last = 0;
    std::uint64_t expected = 0;
    bool unconditional = false;
};
/// Does the exchange. Returns the upper half as it was before.
std::uint64_t exchange_last(LockWord* lock, const Exchange& exchange) {
    LockWord seen = pshmem_ulong_atomic_fetch(lock, kHome);
    for (;;) {
        const std::uint64_t last = seen / kLast;
        if (!exchange.unconditional && last != exchange.expected) return last;
        const LockWord next = seen % kLast + exchange.last * kLast;
        const LockWord found = pshmem_ulong_atomic_compare_swap(lock, seen, next, kHome);
        if (found == seen) return last;
        seen = found;
    }
}

std::uint64_t own_number() {
    return static_cast<std::uint64_t>(job.rank) + 1;
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::job;

SHMEM_ROUTINE(void, set_lock, (long* lock)) {
    shmem::require_job("set_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    const auto before =
        shmem::exchange_last(word, {.last = shmem::own_number(), .unconditional = true});
    if (before == 0) return pshmem_ulong_atomic_add(word, shmem::kGranted, job.rank);
    pshmem_ulong_atomic_add(word, shmem::own_number(), static_cast<int>(before) - 1);
    // Waits for the grant. The upper half at PE 0 may change at any time.
    while ((pshmem_ulong_atomic_fetch(word, job.rank) & shmem::kGranted) == 0) {
        const shmem::LockWord seen = *static_cast<volatile shmem::LockWord*>(word);
        if ((seen & shmem::kGranted) == 0) pshmem_ulong_wait_until(word, SHMEM_CMP_NE, seen);
    }
}

SHMEM_ROUTINE(int, test_lock, (long* lock)) {
    shmem::require_job("test_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    if (shmem::exchange_last(word, {.last = shmem::own_number(), .expected = 0}) == 0) {
        pshmem_ulong_atomic_add(word, shmem::kGranted, job.rank);
        return 0;
    }
    shmem::drive_and_yield();  // the holder may need this processor
    return 1;
}

SHMEM_ROUTINE(void, clear_lock, (long* lock)) {
    shmem::require_job("clear_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    if ((pshmem_ulong_atomic_fetch(word, job.rank) & shmem::kGranted) == 0)
        shmem::refuse("clear_lock", "lock: this PE does not hold it");
    pshmem_quiet();  // makes data put under the lock visible to the next holder
    // Before others can get the lock: another thread of this PE may be the next holder.
    pshmem_ulong_atomic_add(word, 0 - shmem::kGranted, job.rank);
    const auto next_of = [&] { return pshmem_ulong_atomic_fetch(word, job.rank) & shmem::kNext; };
    if (next_of() == 0) {
        const auto last = shmem::exchange_last(word, {.last = 0, .expected = shmem::own_number()});
        if (last == shmem::own_number()) return;
    }
    // A successor is in the queue; waits until it has written its number here.
    std::uint64_t next = 0;
    while ((next = next_of()) == 0) {
        const shmem::LockWord seen = *static_cast<volatile shmem::LockWord*>(word);
        if ((seen & shmem::kNext) == 0) pshmem_ulong_wait_until(word, SHMEM_CMP_NE, seen);
    }
    pshmem_ulong_atomic_add(word, 0 - next, job.rank);
    pshmem_ulong_atomic_add(word, shmem::kGranted, static_cast<int>(next) - 1);
}
