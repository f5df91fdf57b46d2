// SPDX-License-Identifier: BSD-3-Clause
#include "run/memory/locks.hpp"

#include <atomic>

#include "run/job/real_engine.hpp"

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

}  // namespace

/// Changes a half of a member's word, and returns its former value.
base::Result<std::uint32_t> Locks::change(RequestKind kind, std::uint32_t* half,
                                          std::uint32_t operand, Rank member,
                                          std::uint32_t compare) {
    std::uint32_t old = 0;
    WEFT_TRY(memory_.change(half, {kind, sizeof *half, operand, compare}, member, &old,
                            Return::reusable));
    return old;
}

/// Sets bits in the lower half of a member's word.
base::Result<void> Locks::set_bits(std::uint64_t* word, std::uint32_t bits, Rank member) {
    std::uint32_t* const half = successor_half(word);
    return memory_.change(half, {RequestKind::bor, sizeof *half, bits}, member, /*into=*/nullptr,
                          Return::at_once);
}

/// Returns the lock's home member. It depends on the lock's offset, to spread locks over members.
base::Result<Rank> Locks::home_of(std::string_view call, std::uint64_t* word) {
    const auto target = WEFT_TRY(memory_.find_word({call, "lock", word, 0}, sizeof *word));
    if (memory_.services_.heap_offset(word) == link::kNoOffset)
        return base::fail(Status::argument, "{}: lock: {} is not symmetric memory", call,
                          static_cast<const void*>(word));
    return static_cast<Rank>(target.remote.offset / sizeof *word %
                             static_cast<std::uint64_t>(memory_.team_.size()));
}

/// Waits until no other thread of this rank uses the lock. If only one thread makes calls, fails if
/// this rank holds the lock.
base::Result<void> Locks::enter(const std::uint64_t* word) {
    RealEngine& engine = memory_.services_.engine;
    const Turn::Hold hold = engine.take_turn();
    if (memory_.services_.settings.threads != base::ThreadLevel::multiple &&
        memory_.services_.locks.contains(word))
        return base::fail(Status::argument,
                          "lock: this rank already holds the lock {}, expected a lock that it does "
                          "not hold",
                          static_cast<const void*>(word));
    const auto waits = [] { return std::string("lock: waiting for another thread of this rank"); };
    if (engine.await([&] { return memory_.services_.locks.insert(word).second; }, waits)) return {};
    return engine.failure();
}

void Locks::leave(const std::uint64_t* word) {
    const Turn::Hold hold = memory_.services_.engine.take_turn();
    memory_.services_.locks.erase(word);
}

base::Result<void> Locks::lock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("lock", word));
    WEFT_TRY(enter(word));
    auto locked = wait_in_queue(word, home);
    if (!locked) leave(word);
    return locked;
}

base::Result<void> Locks::wait_in_queue(std::uint64_t* word, Rank home) {
    const auto me = static_cast<std::uint32_t>(memory_.team_.rank()) + 1;
    const auto predecessor = WEFT_TRY(change(RequestKind::swap, last_half(word), me, home));
    if (predecessor == 0) {
        own_successor(word).fetch_or(kGranted, std::memory_order_relaxed);
        return {};
    }
    WEFT_TRY(set_bits(word, me, static_cast<Rank>(predecessor) - 1));
    WEFT_TRY(memory_.waits().all(own_wait(word, Compare::ge, kGranted)));
    return {};
}

base::Result<bool> Locks::try_lock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("try_lock", word));
    const auto try_enter = [&] {
        const Turn::Hold hold = memory_.services_.engine.take_turn();
        return memory_.services_.locks.insert(word).second;
    };
    if (!try_enter()) {
        memory_.services_.progress.drive();  // the holder, another thread, may wait for a message
        return false;
    }
    const auto me = static_cast<std::uint32_t>(memory_.team_.rank()) + 1;
    const auto last = change(RequestKind::compare_swap, last_half(word), me, home, /*compare=*/0);
    const bool locked = last && *last == 0;
    if (locked)
        own_successor(word).fetch_or(kGranted, std::memory_order_relaxed);
    else
        leave(word);
    if (!last) return last.failure();
    return locked;
}

base::Result<void> Locks::unlock(std::uint64_t* word) {
    const auto home = WEFT_TRY(home_of("unlock", word));
    if (own_successor(word).load(std::memory_order_relaxed) < kGranted)
        return base::fail(Status::argument, "unlock: this rank does not hold the lock {}",
                          static_cast<const void*>(word));
    WEFT_TRY(memory_.quiet());  // the next holder of the lock must see this rank's puts
    WEFT_TRY(pass_on(word, home));
    leave(word);
    return {};
}

/// Grants the lock to the next member in the queue, or frees it.
base::Result<void> Locks::pass_on(std::uint64_t* word, Rank home) {
    const auto me = static_cast<std::uint32_t>(memory_.team_.rank()) + 1;
    const auto held = own_successor(word).fetch_and(~kGranted, std::memory_order_acq_rel);
    if (held == kGranted) {  // no successor yet
        const auto last =
            WEFT_TRY(change(RequestKind::compare_swap, last_half(word), /*operand=*/0, home, me));
        if (last == me) return {};
    }
    // The successor may not have stored its number yet.
    const auto successor = WEFT_TRY(memory_.waits().all(own_wait(word, Compare::ne, 0)));
    own_successor(word).store(0, std::memory_order_relaxed);
    return set_bits(word, kGranted, static_cast<Rank>(successor) - 1);
}

}  // namespace weft::run
