// SPDX-License-Identifier: BSD-3-Clause
// locks.cpp - locks with a queue of waiting PEs (an MCS lock).
//
// Idea     In this file the number of a PE is PE + 1. The upper half of the lock's word at PE 0 is
//          the number of the last PE in the queue, or 0 if the lock is free. A PE that requests the
//          lock replaces this half with its own number. A nonzero old value is the number of its
//          predecessor: the PE adds its own number to the lower half of the predecessor's word, and
//          waits until the predecessor sets kGranted in the lower half of the PE's own word.
//          This bit stays while the PE holds the lock.
// Holds    A waiting PE only polls its own memory. The word is 0 on all PEs when no PE holds the
//          lock or waits for it. PEs get the lock in the order of their exchanges.
#include <optional>

#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

constexpr std::uint64_t kUpperUnit = std::uint64_t{1} << 32;  ///< 1 in the upper half
constexpr std::uint64_t kGranted = std::uint64_t{1} << 31;    ///< the PE holds the lock
constexpr std::uint64_t kNextMask = kGranted - 1;             ///< the successor's number
constexpr int kHomePe = 0;                                    ///< PE whose word has the upper half

using LockWord = unsigned long;
static_assert(sizeof(LockWord) == 8);

struct Exchange {
    std::uint64_t last = 0;
    std::optional<std::uint64_t> expected;
};
/// Sets the upper half at kHomePe to exchange.last if the half has the expected value or if no
/// value is expected. Returns the old value of the half.
std::uint64_t exchange_last(LockWord* lock, const Exchange& exchange) {
    LockWord seen = pshmem_ulong_atomic_fetch(lock, kHomePe);
    for (;;) {
        const std::uint64_t last = seen / kUpperUnit;
        if (exchange.expected && last != exchange.expected) return last;
        const LockWord next = seen % kUpperUnit + exchange.last * kUpperUnit;
        const LockWord found = pshmem_ulong_atomic_compare_swap(lock, seen, next, kHomePe);
        if (found == seen) return last;
        seen = found;
    }
}

std::uint64_t own_number() {
    return static_cast<std::uint64_t>(job.rank) + 1;
}

/// Waits until this PE's word has bits of `mask`, and returns these bits. Ignores other changes of
/// the word: at kHomePe, PEs change the upper half at any time.
std::uint64_t wait_for_bits(LockWord* word, std::uint64_t mask) {
    for (;;) {
        const LockWord seen = pshmem_ulong_atomic_fetch(word, job.rank);
        if ((seen & mask) != 0) return seen & mask;
        pshmem_ulong_wait_until(word, SHMEM_CMP_NE, seen);
    }
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::job;

SHMEM_ROUTINE(void, set_lock, (long* lock)) {
    shmem::require_job("set_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    const auto before = shmem::exchange_last(word, {.last = shmem::own_number()});
    if (before == 0) return pshmem_ulong_atomic_add(word, shmem::kGranted, job.rank);
    pshmem_ulong_atomic_add(word, shmem::own_number(), static_cast<int>(before) - 1);
    shmem::wait_for_bits(word, shmem::kGranted);
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
    if ((pshmem_ulong_atomic_fetch(word, job.rank) & shmem::kNextMask) == 0) {
        const auto last = shmem::exchange_last(word, {.last = 0, .expected = shmem::own_number()});
        if (last == shmem::own_number()) return;
    }
    // A successor is in the queue: wait until it has added its number to this PE's word.
    const std::uint64_t next = shmem::wait_for_bits(word, shmem::kNextMask);
    pshmem_ulong_atomic_add(word, 0 - next, job.rank);  // clears the successor's number
    pshmem_ulong_atomic_add(word, shmem::kGranted, static_cast<int>(next) - 1);
}
