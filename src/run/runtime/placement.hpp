// SPDX-License-Identifier: BSD-3-Clause
// placement.hpp - the initial processor of each rank, if the launcher has not bound ranks.
//
// Idea     Two ranks that start on one processor stay there for long, even if another processor is
//          idle. They never sleep, so the scheduler has no occasion to move them. If all ranks of a
//          host may use the same processors, each rank moves to a processor of its own once. If
//          there are more ranks than processors, neighbours share a processor evenly. Ranks are not
//          bound: the scheduler may move them later, so two jobs on a host do not collide.
// Why      Barriers of ranks on few processors are faster than with the scheduler's initial
//          placement.
#pragma once

#include <sched.h>

#include <optional>
#include <span>

namespace weft::run {

/// Returns the processor for the rank at `index` of a host, from the processors that each rank may
/// use. Returns nothing if these differ.
[[nodiscard]] std::optional<int> place_of(std::span<const cpu_set_t> allowed, std::size_t index);

/// Moves the calling thread once, and restores its affinity. If the system refuses, nothing
/// changes.
void move_to(int processor) noexcept;

}  // namespace weft::run
