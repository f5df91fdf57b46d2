// SPDX-License-Identifier: BSD-3-Clause
// fork_guard.hpp - detects that code runs in a forked child of a rank's process.
//
// Idea     Pages marked MADV_WIPEONFORK read as zeros in a child. A word in such a page is 1 in the
//          process that made the runtimes. Handles of the C interface are in such pages, too.
// Why      A child has copies of all handles, and its stores would change the shared segments. The
//          kernel clears the pages without a fork handler, so also in children of clone() and
//          _Fork().
// Holds    Children of vfork() and posix_spawn() share the parent's memory, so they are not
//          detected. Without MADV_WIPEONFORK, a pthread_atfork() handler clears the pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace weft::base {

namespace detail {
/// 1 in the process that made a runtime, 0 in its children; nullptr before the first runtime.
extern std::atomic<const std::atomic<std::uint32_t>*> fork_word;
}  // namespace detail

/// Makes private memory read as zeros in forked children. `pages` and `bytes` must be multiples of
/// the page size. The memory must stay mapped until the process ends.
void wipe_in_children(void* pages, std::size_t bytes);

/// Marks this process as the owner of its runtimes, before the first. Fails in a forked child.
Result<void> guard_against_forks();

/// Sets the rank that fork_failure() names.
void set_guarded_rank(Rank rank);

/// Returns true in a child that was forked after guard_against_forks(). Costs two loads.
[[nodiscard]] inline bool is_forked_child() {
    const auto* const word = detail::fork_word.load(std::memory_order_relaxed);
    return word != nullptr && word->load(std::memory_order_relaxed) == 0;
}

/// Returns the failure with which each call in a forked child ends.
[[nodiscard]] Failure fork_failure();

}  // namespace weft::base
