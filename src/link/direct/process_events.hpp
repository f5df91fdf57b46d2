// SPDX-License-Identifier: BSD-3-Clause
// process_events.hpp - what happens to all memory of a process, wherever it comes from: fork and
// madvise.
//
// Idea     What adopts memory enlists here and is called before the process forks (pthread_atfork)
//          and before madvise() or mremap() changes memory (interposers.cpp).
// Holds    One lock for all, which users hold while they change or use what they adopted: a fork in
//          another thread waits for them, and they for the fork. The thread that holds it never
//          waits for itself: handlers of a fork may call madvise() and fork, for all is private
//          memory then; a signal handler that does, in the middle of a change, gets what can be
//          had from the kernel alone. With the lock held no one allocates, as that may call
//          madvise().
// Why      A process has one list of handlers for fork, and no way to leave it; hence one list
//          here, the only state of this room that does not belong to an object.
#pragma once

#include <cstdint>
#include <mutex>

#include "link/direct/owned_lock.hpp"

namespace weft::link {

/// Who was told that memory will be advised or moved.
enum class Told : std::uint8_t {
    none,           ///< no memory was ever adopted
    all,            ///< it is private memory now, except where devices have it pinned
    in_the_middle,  ///< no one can be: the calling thread is just changing what is adopted
};

class ProcessEvents {
  public:
    /// The lock under which all functions below are called.
    [[nodiscard]] static OwnedLock& lock() noexcept;

    ProcessEvents() = default;
    ProcessEvents(const ProcessEvents&) = delete;
    ProcessEvents& operator=(const ProcessEvents&) = delete;

    virtual ~ProcessEvents() = default;

    virtual void before_fork() noexcept = 0;
    virtual void in_child() noexcept = 0;
    /// madvise() or mremap() will be called for these addresses.
    virtual void before_advice(std::uint64_t begin, std::uint64_t end) noexcept = 0;

  protected:
    /// When the derived object is complete; without the lock.
    void enlist() noexcept;
    /// While it still is; with the lock.
    void delist() noexcept;

  private:
    static void prepare() noexcept;
    static void in_parent() noexcept;
    static void in_child_of_all() noexcept;

    friend Told tell_all_before_advice(std::uint64_t begin, std::uint64_t end) noexcept;

    ProcessEvents* next_ = nullptr;
};

/// Calls before_advice() of all.
Told tell_all_before_advice(std::uint64_t begin, std::uint64_t end) noexcept;

/// Remembers where the program has given memory a property, with madvise() or pkey_mprotect(), that
/// replacing its pages would undo.
void note_advised(std::uint64_t begin, std::uint64_t end) noexcept;
/// Was that ever done to memory that overlaps, or to so much that this is not known any more? Other
/// memory may lie there now. With the lock held.
[[nodiscard]] bool may_be_advised(std::uint64_t begin, std::uint64_t end) noexcept;

/// Do the program's calls of madvise() and mremap() arrive at the interposers?
[[nodiscard]] bool interposers_in_effect() noexcept;

}  // namespace weft::link
