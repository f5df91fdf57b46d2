// SPDX-License-Identifier: BSD-3-Clause
// locks.cpp - locks with a queue of PEs for each.
//
// Idea     The upper half of the lock's word at PE 0 names the last PE in the queue (PE + 1, or 0).
//          A new PE writes itself there, and writes its mark to the lower half of its predecessor's
//          word. Then it waits for its own word, where the predecessor grants the lock.
// Holds    A waiting PE polls its own memory only. The word is 0 on all PEs when no PE holds the
//          lock or waits for it. PEs get the lock in the order of their arrival.
#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

constexpr std::uint64_t kLast = std::uint64_t{1} << 32;     ///< times PE + 1, at PE 0
constexpr std::uint64_t kGranted = std::uint64_t{1} << 31;  ///< this PE holds the lock
constexpr std::uint64_t kNext = kGranted - 1;               ///< PE + 1 of the successor
constexpr int kHome = 0;

using LockWord = unsigned long;
static_assert(sizeof(LockWord) == 8);

/// Exchange of the upper half at PE 0 with `last`: if it is `expected`, or always.
struct Exchange {
    std::uint64_t last = 0;
    std::uint64_t expected = 0;
    bool whatever = false;
};
/// Does the exchange; returns the former upper half.
std::uint64_t exchange_last(LockWord* lock, const Exchange& wanted) {
    LockWord seen = pshmem_ulong_atomic_fetch(lock, kHome);
    for (;;) {
        const std::uint64_t last = seen / kLast;
        if (!wanted.whatever && last != wanted.expected) return last;
        const LockWord next = seen % kLast + wanted.last * kLast;
        const LockWord found = pshmem_ulong_atomic_compare_swap(lock, seen, next, kHome);
        if (found == seen) return last;
        seen = found;
    }
}

std::uint64_t own_mark() {
    return static_cast<std::uint64_t>(job.rank) + 1;
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::job;

SHMEM_ROUTINE(void, set_lock, (long* lock)) {
    shmem::require_job("set_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    const auto before = shmem::exchange_last(word, {.last = shmem::own_mark(), .whatever = true});
    if (before == 0) return;
    pshmem_ulong_atomic_add(word, shmem::own_mark(), static_cast<int>(before) - 1);
    // Waits for the grant. The upper half at PE 0 may change at any time.
    while ((pshmem_ulong_atomic_fetch(word, job.rank) & shmem::kGranted) == 0) {
        const shmem::LockWord seen = *static_cast<volatile shmem::LockWord*>(word);
        if ((seen & shmem::kGranted) == 0) pshmem_ulong_wait_until(word, SHMEM_CMP_NE, seen);
    }
    pshmem_ulong_atomic_add(word, 0 - shmem::kGranted, job.rank);
}

SHMEM_ROUTINE(int, test_lock, (long* lock)) {
    shmem::require_job("test_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    if (shmem::exchange_last(word, {.last = shmem::own_mark(), .expected = 0}) == 0) return 0;
    shmem::drive_and_yield();  // the holder may need this core
    return 1;
}

SHMEM_ROUTINE(void, clear_lock, (long* lock)) {
    shmem::require_job("clear_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    pshmem_quiet();  // makes data put under the lock visible to the next holder
    const auto next_of = [&] { return pshmem_ulong_atomic_fetch(word, job.rank) & shmem::kNext; };
    if (next_of() == 0) {
        const auto last = shmem::exchange_last(word, {.last = 0, .expected = shmem::own_mark()});
        if (last == shmem::own_mark()) return;
        if (last == 0) shmem::refuse("clear_lock", "lock: this PE does not hold it");
    }
    // A successor is in the queue, and is about to write its mark.
    std::uint64_t next = 0;
    while ((next = next_of()) == 0) {
        const shmem::LockWord seen = *static_cast<volatile shmem::LockWord*>(word);
        if ((seen & shmem::kNext) == 0) pshmem_ulong_wait_until(word, SHMEM_CMP_NE, seen);
    }
    pshmem_ulong_atomic_add(word, 0 - next, job.rank);
    pshmem_ulong_atomic_add(word, shmem::kGranted, static_cast<int>(next) - 1);
}
