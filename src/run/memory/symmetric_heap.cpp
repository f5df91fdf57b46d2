// SPDX-License-Identifier: BSD-3-Clause
#include "run/memory/symmetric_heap.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/units.hpp"
#include "run/job/real_engine.hpp"
#include "run/team/teams.hpp"

namespace weft::run {

static constexpr std::uint64_t kNone = ~std::uint64_t{0};  // no block is abandoned

base::Result<std::byte*> SymmetricHeap::allocate(Team& team, link::HeapRequest request) {
    const SetupLock::Hold setup = services_.setup.take();
    if (services_.closed()) return team.state().failure;
    collect_abandoned();
    if (first_abandoned(team, 0) != kNone) WEFT_TRY(settle(services_.engine, services_.onesided));
    const auto offset = WEFT_TRY(agree(team, request));
    return services_.segment + offset;
}

base::Result<void> SymmetricHeap::free(Team& team, const void* memory) {
    const SetupLock::Hold setup = services_.setup.take();
    if (services_.closed()) return team.state().failure;
    collect_abandoned();
    const std::uint64_t offset = services_.heap_offset(memory);
    if (offset == link::kNoOffset)
        return base::fail(Status::argument, "free: {} is not in the symmetric heap", memory);
    WEFT_TRY(settle(services_.engine, services_.onesided));
    return free_block(team, offset);
}

base::Result<std::byte*> SymmetricHeap::reallocate(Team& team, const void* memory,
                                                   link::HeapRequest request) {
    const SetupLock::Hold setup = services_.setup.take();
    if (services_.closed()) return team.state().failure;
    const std::uint64_t offset = services_.heap_offset(memory);
    const auto block = find_block(team, offset);
    if (block == blocks_.end())
        return base::fail(Status::argument,
                          "realloc: {} is not the start of memory that was allocated on this team "
                          "and is still in use",
                          memory);
    const std::uint64_t old_bytes = block->second.bytes;
    WEFT_TRY(settle(services_.engine, services_.onesided));
    auto moved = allocate(team, request);
    if (!moved) return moved;
    std::memcpy(*moved, memory, std::min(old_bytes, request.bytes));
    if (const auto freed = free_block(team, offset); !freed) {
        // Members have passed different memory: all of them fail, and free the new block.
        if (freed.failure().status == Status::argument)
            remove(blocks_.find(services_.heap_offset(*moved)));
        return freed.failure();
    }
    return moved;
}

void SymmetricHeap::abandon(const Team& team, const void* memory) {
    const std::scoped_lock lock(dropped_mutex_);
    dropped_.emplace_back(services_.heap_offset(memory), team.serial());
}

/// Adds the blocks of abandon(), which cannot wait for the setup lock, to abandoned_.
void SymmetricHeap::collect_abandoned() {
    const std::scoped_lock lock(dropped_mutex_);
    for (const auto& [offset, team] : dropped_) {
        const auto block = blocks_.find(offset);
        if (block != blocks_.end() && block->second.team == team)
            abandoned_.emplace(std::pair(team, block->second.number), offset);
    }
    dropped_.clear();
}

static base::Result<void> check_agreed(const char* argument, std::uint64_t here,
                                       const MinMax& members) {
    if (members.agreed()) return {};
    return base::fail(Status::argument,
                      "alloc: {} is {} here and from {} to {} on the members of the team, expected "
                      "the same on all",
                      argument, here, members.min, members.max);
}

/// Allocates a block at an offset that is free on all members. First frees blocks that all members
/// have abandoned.
base::Result<std::uint64_t> SymmetricHeap::agree(Team& team, link::HeapRequest request) {
    if (!std::has_single_bit(request.alignment) || request.alignment > alignment_max_)
        return base::fail(Status::argument,
                          "alloc: alignment is {}, expected a power of two up to {}",
                          request.alignment, alignment_max_);
    // Lower limits of the next proposals.
    std::uint64_t from = 0, abandoned_from = 0;
    for (;;) {
        auto computed = min_max<4>(team,
                                   {propose(request, from), request.bytes, request.alignment,
                                    first_abandoned(team, abandoned_from)},
                                   Purpose::alloc);
        if (!computed) return computed.failure().within("alloc");
        const auto& [offsets, bytes, alignments, abandoned] = *computed;
        WEFT_TRY(check_agreed("bytes", request.bytes, bytes));
        WEFT_TRY(check_agreed("alignment", request.alignment, alignments));
        const bool full = offsets.max == link::kNoOffset;
        if (abandoned.agreed() && abandoned.max != kNone) {
            remove(blocks_.find(abandoned_.at({team.serial(), abandoned.max})));
            from = 0;
        } else if (full && abandoned.max != kNone) {
            // Not all members have abandoned a block with a lower number.
            abandoned_from = abandoned.max;
        } else if (full) {
            return out_of_memory(team, request);
        } else if (offsets.agreed()) {
            from = offsets.max;
            heap_.take(from, request);
            blocks_.emplace(from, Block{team.serial(), team.next_allocation(), request.bytes});
            // Destructors call abandon(), which therefore must not allocate.
            const std::scoped_lock lock(dropped_mutex_);
            if (dropped_.capacity() < blocks_.size()) dropped_.reserve(2 * blocks_.size());
            return from;
        } else {
            from = offsets.max;
        }
    }
}

/// Returns the lowest free offset from `from` on, prepared for the network, or kNoOffset.
std::uint64_t SymmetricHeap::propose(link::HeapRequest request, std::uint64_t from) {
    unprepared_.reset();
    const std::uint64_t offset = heap_.find(request, from);
    if (offset == link::kNoOffset) return offset;
    auto ready = prepare_memory(services_.engine, *services_.job.wire, offset, request.bytes);
    if (ready) return offset;
    unprepared_ = ready.failure();
    return link::kNoOffset;
}

base::Result<void> SymmetricHeap::free_block(Team& team, std::uint64_t offset) {
    const auto block = find_block(team, offset);
    if (block == blocks_.end())
        return base::fail(Status::argument,
                          "free: the pointer is not the start of memory that was allocated on this "
                          "team and is still in use");
    const auto computed = min_max<1>(team, {offset}, Purpose::free);
    if (!computed) return computed.failure().within("free");
    const MinMax& offsets = computed->front();
    if (!offsets.agreed())
        return base::fail(Status::argument,
                          "free: members of the team pass different memory (heap offset {} here, "
                          "{} to {} in all), expected the same on all",
                          offset, offsets.min, offsets.max);
    remove(block);
    return {};
}

base::Failure SymmetricHeap::out_of_memory(const Team& team, link::HeapRequest request) const {
    if (unprepared_) return unprepared_->within(fmt::format("alloc of {} bytes", request.bytes));
    const link::HeapStatistics now = heap_.statistics();
    return base::fail(
        Status::memory,
        "alloc: no offset has room for {} bytes, aligned to {}, on all {} members; this rank's "
        "heap of {} has {} free, at most {} in one piece; increase WEFT_HEAP_SIZE",
        request.bytes, request.alignment, team.size(), base::format_bytes(now.bytes_total),
        base::format_bytes(now.bytes_total - now.bytes_used),
        base::format_bytes(now.bytes_free_largest));
}

void SymmetricHeap::end_team(const Team& team) {
    for (auto block = blocks_.begin(); block != blocks_.end();) {
        const auto next = std::next(block);
        if (block->second.team == team.serial()) remove(block);
        block = next;
    }
}

SymmetricHeap::Blocks::iterator SymmetricHeap::find_block(const Team& team, std::uint64_t offset) {
    const auto block = blocks_.find(offset);
    return block != blocks_.end() && block->second.team == team.serial() ? block : blocks_.end();
}

/// Returns the lowest number, from `from` on, of a block that this rank has abandoned, or kNone.
std::uint64_t SymmetricHeap::first_abandoned(const Team& team, std::uint64_t from) const {
    const auto first = abandoned_.lower_bound({team.serial(), from});
    const bool found = first != abandoned_.end() && first->first.first == team.serial();
    return found ? first->first.second : kNone;
}

void SymmetricHeap::remove(Blocks::iterator block) {
    const auto freed = heap_.free(block->first);
    WEFT_CHECK(freed.ok(), freed.failure().text);
    abandoned_.erase({block->second.team, block->second.number});
    blocks_.erase(block);
}

}  // namespace weft::run
