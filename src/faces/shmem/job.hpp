// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - state of this PE: its job, its symmetric memory, its local peers.
//
// Idea     A symmetric address is in weft's heap or in the program's variables. Each variable has a
//          second address, in the heap (data_segment.hpp): its address plus SharedRange::to_heap. A
//          heap address plus JobState::to_peer is the address of a local peer's copy, as mapped in
//          this process, so a put to that peer is a store.
// Holds    Local transfers take no lock. Under SHMEM_THREAD_MULTIPLE weft is thread-safe; this
//          layer locks only its tables of teams and sets, and waits with a lock held only in the
//          first call with an active set.
//          All bytes that a call accesses must be in one region: one SharedRange of variables, or
//          the heap from its lowest to its highest object.
//          The job belongs to the process that called shmem_init. In its forked children `runtime`
//          is nullptr, so every routine refuses or does nothing.
// Next     transfers.cpp and atomics.cpp, which use these addresses; docs/shmem.md.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "faces/shmem/routine.hpp"
#include "weft/weft.h"

/// Objects behind the handles of shmem.h.
struct weft_shmem_team {
    weft_team* team = nullptr;
    int rank = -1;
    int size = 0;
    std::vector<int> world_ranks;  ///< ranks in SHMEM_TEAM_WORLD of the members, in team order
    shmem_team_config_t config{};
};
struct weft_shmem_context {
    std::shared_ptr<const weft_shmem_team> team;  ///< PE arguments are ranks of this team
    shmem_team_t handle = SHMEM_TEAM_INVALID;     ///< handle of `team`
    weft_team* weft_context = nullptr;            ///< of weft_context_create(): ranks are world PEs
};

namespace weft::shmem {

/// A range of the program's variables, whose pages are also in the heap.
struct SharedRange {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::ptrdiff_t to_heap = 0;  ///< bytes from a variable's address to its heap address
};

struct JobState {
    static constexpr std::ptrdiff_t kRemote = PTRDIFF_MIN;  ///< in to_peer: a PE of another node
    static constexpr std::size_t kRangesMax = 4;  ///< linkers usually make 1 or 2 data segments

    weft_runtime* runtime = nullptr;  ///< nullptr: not initialized, finalized, or a forked child
    int starts = 0;       ///< calls of shmem_init[_thread] minus calls of shmem_finalize
    bool forked = false;  ///< this process is a forked child of a PE
    pid_t process = 0;    ///< process that called shmem_init
    weft_team* world = nullptr;
    int rank = -1;
    int size = 0;
    int thread_level = SHMEM_THREAD_SINGLE;
    bool all_local = false;  ///< all PEs are on one node
    /// Number of times that a wait polls its word before it calls weft. 0 if a PE is remote. Also 0
    /// if PEs outnumber the processors: the writing PE may need this PE's processor.
    int polls = 0;
    SharedRange ranges[kRangesMax];  ///< the program's variables
    std::size_t range_count = 0;
    // Lowest and highest address of all objects allocated so far. Atomic: a thread may allocate
    // while others put.
    static constexpr std::uintptr_t kNoHeap = UINTPTR_MAX;
    std::atomic<std::uintptr_t> heap_begin{kNoHeap};
    std::atomic<std::uintptr_t> heap_end{0};
    /// For each PE: bytes from this PE's heap to the PE's heap as mapped here, or kRemote.
    std::vector<std::ptrdiff_t> to_peer;
    /// Number of calls of drive_periodically(). Approximate: threads may lose increments.
    std::atomic<std::uint32_t> local_calls{0};
};
extern JobState job;

// The refuse functions print the routine, this PE and the problem, and end the job.
[[noreturn]] void refuse(const char* routine, const std::string& problem);
/// Reports that the argument `name` is not in 0..size - 1.
[[noreturn]] void refuse_pe(const char* routine, int pe, int size, const char* name = "pe");
/// Reports a call before shmem_init, after shmem_finalize or in a forked child.
[[noreturn]] void refuse_without_job(const char* routine);
inline void require_job(const char* routine) {
    if (job.runtime == nullptr) [[unlikely]]
        refuse_without_job(routine);
}
/// Ends the job with weft's message if `status` is a failure.
void check(const char* routine, weft_status status);
/// For routines with a status: return 0, or -1 after printing the failure. An empty `problem` is
/// success.
int report(const char* routine, weft_status status);
int report(const char* routine, const std::string& problem);
/// Returns why this process has no job; empty if it has a job.
std::string missing_job();

/// Sets *bytes to count * size. Returns false if the product overflows.
[[nodiscard]] inline bool multiply(std::size_t count, std::size_t size, std::size_t* bytes) {
    return !__builtin_mul_overflow(count, size, bytes);
}
[[noreturn]] void refuse_count(const char* routine, std::size_t count, std::size_t size);
/// Returns the size of `count` elements in bytes; ends the job if the product overflows.
inline std::size_t bytes_of(const char* routine, std::size_t count, std::size_t size) {
    std::size_t bytes = 0;
    if (!multiply(count, size, &bytes)) [[unlikely]]
        refuse_count(routine, count, size);
    return bytes;
}

/// Returns a clause that names the environment variable for the heap's size and its value.
std::string heap_setting();

/// Drives communication once, and yields the processor to other processes.
void drive_and_yield();
/// Drives communication once.
void drive();
/// Drives communication in every 64th call, for transfers to local peers, which do not call weft.
void drive_periodically();

/// Returns the heap address of symmetric memory; nullptr if the range is not in one region.
inline std::byte* symmetric(const volatile void* address, std::size_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (std::size_t i = 0; i < job.range_count; ++i) {
        const SharedRange& range = job.ranges[i];
        const std::uintptr_t offset = at - range.begin;
        if (offset >= range.bytes) continue;
        if (bytes > range.bytes - offset) [[unlikely]]
            return nullptr;
        return reinterpret_cast<std::byte*>(at + static_cast<std::uintptr_t>(range.to_heap));
    }
    const std::uintptr_t end = job.heap_end.load(std::memory_order_relaxed);
    const bool inside =
        at >= job.heap_begin.load(std::memory_order_relaxed) && at <= end && bytes <= end - at;
    return inside ? reinterpret_cast<std::byte*>(at) : nullptr;
}

/// Returns a message about a range for which symmetric() returns nullptr.
std::string range_problem(const char* argument, const volatile void* address, std::size_t bytes);
[[noreturn]] void refuse_range(const char* routine, const char* argument,
                               const volatile void* address, std::size_t bytes);
/// Returns the result of symmetric(); ends the job if it is nullptr.
inline std::byte* require_symmetric(const char* routine, const char* argument,
                                    const volatile void* address, std::size_t bytes) {
    std::byte* const heap_address = symmetric(address, bytes);
    if (heap_address == nullptr) [[unlikely]]
        refuse_range(routine, argument, address, bytes);
    return heap_address;
}

/// Converts an address in this PE's heap to that of a local peer's copy; nullptr for a remote peer.
inline std::byte* local_copy(std::byte* heap_address, int world_pe) {
    const std::ptrdiff_t distance = job.to_peer[static_cast<std::size_t>(world_pe)];
    if (distance == JobState::kRemote) [[unlikely]]
        return nullptr;
    // A program that makes only local transfers must still serve requests of remote peers.
    if (!job.all_local) [[unlikely]]
        drive_periodically();
    return heap_address + distance;
}

/// Converts PE `pe` of a context's team to its number in SHMEM_TEAM_WORLD. Ends the job if `pe` is
/// not in the team.
inline int world_pe(const char* routine, shmem_ctx_t context, int pe) {
    if (context == SHMEM_CTX_DEFAULT) [[likely]] {
        if (static_cast<unsigned>(pe) >= static_cast<unsigned>(job.size))
            refuse_pe(routine, pe, job.size);
        return pe;
    }
    if (context == SHMEM_CTX_INVALID) refuse(routine, "ctx: SHMEM_CTX_INVALID, expected a context");
    const weft_shmem_team& team = *context->team;
    if (static_cast<unsigned>(pe) >= static_cast<unsigned>(team.size))
        refuse_pe(routine, pe, team.size);
    return team.world_ranks[static_cast<std::size_t>(pe)];
}

/// Returns weft's handle of a context. Its ranks are world PEs.
inline weft_team* weft_context_of(shmem_ctx_t context) {
    return context == SHMEM_CTX_DEFAULT ? job.world : context->weft_context;
}

/// Returns the team of a handle; nullptr for invalid handles and in a process without a job.
const weft_shmem_team* find_team(shmem_team_t team);
/// Makes the predefined teams when the job starts. end_teams() removes all teams.
void make_predefined_teams();
void end_teams();

/// Allocates the cells of active sets when the job starts. end_active_sets() removes the sets.
void start_active_sets();
void end_active_sets();

}  // namespace weft::shmem
