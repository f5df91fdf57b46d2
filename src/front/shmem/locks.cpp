// SPDX-License-Identifier: BSD-3-Clause
// locks.cpp - locks: a queue of PEs for each.
//
// Idea     The upper half of the lock's word at PE 0 says who is last in the queue (PE + 1, or 0).
//          Who comes puts itself there, and tells the one before, in the lower half of that one's
//          word; then it waits for its own word, where the one before says that it is its turn.
// Holds    A PE that waits looks at its own memory only. The word is 0 everywhere when no PE holds
//          the lock or waits for it. PEs get the lock in the order in which they came.
#include "front/shmem/job.hpp"

namespace weft::shmem {

namespace {

constexpr std::uint64_t kLast = std::uint64_t{1} << 32;     ///< times PE + 1, at PE 0
constexpr std::uint64_t kGranted = std::uint64_t{1} << 31;  ///< the lock is this PE's
constexpr std::uint64_t kNext = kGranted - 1;               ///< PE + 1 of who comes after it
constexpr int kHome = 0;

using LockWord = unsigned long;
static_assert(sizeof(LockWord) == 8);

/// Puts `last` into the upper half at home if it is `expected` now, or whatever it is now.
struct Exchange {
    std::uint64_t last = 0;
    std::uint64_t expected = 0;
    bool whatever = false;
};
/// What the upper half was.
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
    // Until this PE's turn; the upper half changes at any time at PE 0.
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
    shmem::drive_and_yield();  // the one who holds it may need this core
    return 1;
}

SHMEM_ROUTINE(void, clear_lock, (long* lock)) {
    shmem::require_job("clear_lock");
    auto* const word = reinterpret_cast<shmem::LockWord*>(lock);
    pshmem_quiet();  // what was put under the lock is there for the next one
    const auto next_of = [&] { return pshmem_ulong_atomic_fetch(word, job.rank) & shmem::kNext; };
    if (next_of() == 0) {
        const auto last = shmem::exchange_last(word, {.last = 0, .expected = shmem::own_mark()});
        if (last == shmem::own_mark()) return;
        if (last == 0) shmem::refuse("clear_lock", "lock: this PE does not hold it");
    }
    // Another one has come, and is about to say so.
    std::uint64_t next = 0;
    while ((next = next_of()) == 0) {
        const shmem::LockWord seen = *static_cast<volatile shmem::LockWord*>(word);
        if ((seen & shmem::kNext) == 0) pshmem_ulong_wait_until(word, SHMEM_CMP_NE, seen);
    }
    pshmem_ulong_atomic_add(word, 0 - next, job.rank);
    pshmem_ulong_atomic_add(word, shmem::kGranted, static_cast<int>(next) - 1);
}
