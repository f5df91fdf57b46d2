// SPDX-License-Identifier: BSD-3-Clause
// fork_guard.hpp - tells a rank's process from its forked children.
//
// Idea     Pages marked MADV_WIPEONFORK read as zeros in a child. A word in such a page is 1 in the
//          process that made its runtimes. Handles of the C interface are in such pages, too.
// Why      A child has copies of all handles, and its stores reach the shared segments. No handler
//          has to run for the wipe, so it also covers children of clone() and _Fork().
// Holds    Children of vfork() and posix_spawn() share the parent's memory and see no change. A
//          kernel without MADV_WIPEONFORK gets a pthread_atfork() handler that clears the pages.
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

/// Makes these whole private pages read as zeros in children of this process. They must stay mapped
/// until the process ends.
void wipe_in_children(void* pages, std::size_t bytes);

/// Marks this process as the one that owns its runtimes. Call before the first one is made.
[[nodiscard]] Result<void> guard_against_forks();

/// Remembers the rank for fork_failure().
void set_guarded_rank(Rank rank);

/// Returns true in a child that was forked after guard_against_forks(). Costs two loads.
[[nodiscard]] inline bool is_forked_child() {
    const auto* const word = detail::fork_word.load(std::memory_order_relaxed);
    return word != nullptr && word->load(std::memory_order_relaxed) == 0;
}

/// Returns the failure of every call in a forked child.
[[nodiscard]] Failure fork_failure();

}  // namespace weft::base
