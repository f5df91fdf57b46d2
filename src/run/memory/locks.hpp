// SPDX-License-Identifier: BSD-3-Clause
// locks.hpp - locks of a team: Mellor-Crummey and Scott (MCS) queues in a word of symmetric memory.
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
#pragma once

#include "run/memory/remote_memory.hpp"

namespace weft::run {

/// Locks of a team. A lock is a word of symmetric memory that is 0 on all members at first.
class Locks {
  public:
    explicit Locks(const RemoteMemory& memory) : memory_(memory) {}

    [[nodiscard]] base::Result<void> lock(std::uint64_t* word);
    [[nodiscard]] base::Result<bool> try_lock(std::uint64_t* word);
    [[nodiscard]] base::Result<void> unlock(std::uint64_t* word);

  private:
    [[nodiscard]] base::Result<std::uint32_t> change(RequestKind kind, std::uint32_t* half,
                                                     std::uint32_t operand, Rank member,
                                                     std::uint32_t compare = 0);
    [[nodiscard]] base::Result<void> set_bits(std::uint64_t* word, std::uint32_t bits, Rank member);
    [[nodiscard]] base::Result<Rank> home_of(std::string_view call, std::uint64_t* word);
    [[nodiscard]] base::Result<void> enter(const std::uint64_t* word);
    void leave(const std::uint64_t* word);
    [[nodiscard]] base::Result<void> wait_in_queue(std::uint64_t* word, Rank home);
    [[nodiscard]] base::Result<void> pass_on(std::uint64_t* word, Rank home);

    RemoteMemory memory_;
};

}  // namespace weft::run
