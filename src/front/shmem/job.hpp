// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - this PE in its job: where symmetric memory is, and who is near.
//
// Idea     A symmetric address is one of weft's heap, or of the program's own variables: their
//          pages are pages of that heap (data_segment.hpp), at some distance from where the program
//          sees them. A peer that shares memory is a distance, too: a put to it is a store.
// Holds    Near transfers take no lock and make no call into weft. At level MULTIPLE weft is told
//          that threads call at once; here only tables have locks, and none is held while waiting.
// Next     transfers.cpp and atomics.cpp for what is done with a place; docs/shmem.md for users.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "front/shmem/routine.hpp"
#include "weft/weft.h"

/// What the handles of shmem.h point to.
struct weft_shmem_team {
    weft_team* team = nullptr;
    int rank = -1;
    int size = 0;
    std::vector<int> world_ranks;  ///< of the members, in their order
    shmem_team_config_t config{};
};
struct weft_shmem_context {
    std::shared_ptr<const weft_shmem_team> team;  ///< PEs of its calls are this team's
    shmem_team_t handle = SHMEM_TEAM_INVALID;     ///< of that team
    weft_team* stream = nullptr;                  ///< its calls, with PEs of the world
    long options = 0;
};

namespace weft::shmem {

/// Pages of the program that lie in the heap as well.
struct SharedRange {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::ptrdiff_t to_heap = 0;  ///< from an address in it to the same byte's in the heap
};

struct Job {
    static constexpr std::ptrdiff_t kFar = PTRDIFF_MIN;
    static constexpr std::size_t kRangesMax = 4;

    weft_runtime* runtime = nullptr;  ///< nullptr: not initialized, or finalized
    weft_team* world = nullptr;
    int rank = -1;
    int size = 0;
    int level = SHMEM_THREAD_SINGLE;
    bool all_near = false;  ///< there is no network
    /// At a word before a wait drives everything: none where PEs outnumber the processors, since
    /// the one that is to write may need this one's.
    int looks = 0;
    SharedRange ranges[kRangesMax];  ///< of variables
    std::size_t range_count = 0;
    // One thread allocates, others may put meanwhile: all that was ever allocated lies between.
    std::atomic<std::uintptr_t> heap_begin{0};
    std::atomic<std::uintptr_t> heap_end{0};
    std::vector<std::ptrdiff_t> to_peer;       ///< by PE: from this heap to the peer's, or kFar
    std::atomic<std::uint32_t> near_calls{0};  ///< approximate: threads may lose some
};
extern Job job;

/// Ends the job: a sentence on standard error that names the routine, this PE and what was wrong.
[[noreturn]] void refuse(const char* routine, const char* problem);
[[noreturn]] void refuse_pe(const char* routine, int pe, int size);
/// The same with what weft says if `status` is a failure.
void check(const char* routine, weft_status status);
/// For routines that return a status: 0, or -1 after the sentence.
int report(const char* routine, weft_status status);

/// Drives everything once, and lets other processes have the core.
void drive_and_yield();
void drive();
/// For calls that otherwise never do.
void drive_now_and_then();

/// The address in weft's heap of a byte of symmetric memory; other addresses are left alone.
inline std::byte* in_heap(const volatile void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (std::size_t i = 0; i < job.range_count; ++i) {
        const SharedRange& range = job.ranges[i];
        if (at - range.begin < range.bytes)
            return reinterpret_cast<std::byte*>(at + static_cast<std::uintptr_t>(range.to_heap));
    }
    return reinterpret_cast<std::byte*>(at);
}

/// Whether these bytes lie where something was allocated.
inline bool is_symmetric(const std::byte* place, std::size_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(place);
    const std::uintptr_t end = job.heap_end.load(std::memory_order_relaxed);
    return at >= job.heap_begin.load(std::memory_order_relaxed) && at <= end && bytes <= end - at;
}

/// Where a near PE of the world has these bytes; nullptr: far, or not symmetric.
inline std::byte* near_place(std::byte* place, std::size_t bytes, int world_pe) {
    const std::ptrdiff_t distance = job.to_peer[static_cast<std::size_t>(world_pe)];
    if (distance == Job::kFar || !is_symmetric(place, bytes)) [[unlikely]]
        return nullptr;
    // A program that spins on near memory must not keep far PEs from what they ask for.
    if (!job.all_near) [[unlikely]]
        drive_now_and_then();
    return place + distance;
}

/// The PE of the world that a context's `pe` is.
inline int world_pe(const char* routine, shmem_ctx_t context, int pe) {
    if (context == SHMEM_CTX_DEFAULT) [[likely]] {
        if (static_cast<unsigned>(pe) >= static_cast<unsigned>(job.size))
            refuse_pe(routine, pe, job.size);
        return pe;
    }
    if (context == SHMEM_CTX_INVALID) refuse(routine, "the context is SHMEM_CTX_INVALID");
    const weft_shmem_team& team = *context->team;
    if (static_cast<unsigned>(pe) >= static_cast<unsigned>(team.size))
        refuse_pe(routine, pe, team.size);
    return team.world_ranks[static_cast<std::size_t>(pe)];
}

/// What a context's calls are made with: a fence and a quiet of their own.
inline weft_team* stream_of(shmem_ctx_t context) {
    return context == SHMEM_CTX_DEFAULT ? job.world : context->stream;
}

/// The team behind a handle; nullptr: SHMEM_TEAM_INVALID.
const weft_shmem_team* find_team(shmem_team_t team);
/// The teams that are always there: made when the job starts, gone when it ends.
void make_predefined_teams();
void end_teams();

/// Sets up and ends what active sets need.
void start_active_sets();
void end_active_sets();

}  // namespace weft::shmem
