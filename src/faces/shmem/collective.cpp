// SPDX-License-Identifier: BSD-3-Clause
#include "faces/shmem/collective.hpp"

#include <numeric>

namespace weft::shmem {

namespace {

/// A buffer to pass to weft, or the reason why it is unusable.
struct Buffer {
    void* at = nullptr;
    std::size_t bytes = 0;
    std::string problem = {};
};

/// Returns the buffer at its heap address if it is symmetric, else at the given address. A buffer
/// that only begins in symmetric memory is unusable.
Buffer find_buffer(const char* argument, const void* address, std::size_t bytes) {
    if (std::byte* const heap_address = symmetric(address, bytes))
        return {.at = heap_address, .bytes = bytes};
    if (symmetric(address, 1) != nullptr)
        return {.problem = range_problem(argument, address, bytes)};
    return {.at = const_cast<void*>(address), .bytes = bytes};
}

/// Finds a buffer with `elements` for each of `members` members.
Buffer find_buffer(const char* argument, const void* address, const Elements& elements,
                   int members = 1) {
    std::size_t bytes = 0;
    if (multiply(elements.count, elements.size, &bytes) &&
        multiply(bytes, static_cast<std::size_t>(members), &bytes) && bytes <= PTRDIFF_MAX)
        return find_buffer(argument, address, bytes);
    return {.problem = "nelems: " + std::to_string(elements.count) + " elements of " +
                       std::to_string(elements.size) + " bytes for each of " +
                       std::to_string(members) + " PEs exceed the address space"};
}

Outcome outcome_of(weft_status status) {
    return status == WEFT_OK ? Outcome() : Outcome(weft_last_error());
}

/// Returns a type of weft with `size` bytes, to move elements without arithmetic.
weft_type type_with_bytes(std::size_t size) {
    switch (size) {
        case 1:
            return WEFT_UINT8;
        case 2:
            return WEFT_UINT16;
        case 4:
            return WEFT_UINT32;
        case 8:
            return WEFT_UINT64;
        default:
            return WEFT_CDOUBLE;  // 16 bytes, the only other size
    }
}

}  // namespace

Outcome synchronize(const weft_shmem_team& team) {
    return outcome_of(weft_barrier(team.team));
}

Outcome broadcast(const weft_shmem_team& team, const char* argument, void* buffer,
                  const Elements& elements, int root) {
    const Buffer found = find_buffer(argument, buffer, elements);
    if (!found.problem.empty()) return found.problem;
    return outcome_of(weft_broadcast(team.team, found.at, found.bytes, WEFT_UINT8, root));
}

Outcome allreduce(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
                  weft_type type, weft_op op) {
    const Buffer from = find_buffer("source", in, elements);
    if (!from.problem.empty()) return from.problem;
    const Buffer to = find_buffer("dest", out, elements);
    if (!to.problem.empty()) return to.problem;
    return outcome_of(weft_allreduce(team.team, in == out ? WEFT_IN_PLACE : from.at, to.at,
                                     elements.count, type, op));
}

Outcome scan(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
             weft_type type, Scan form) {
    const Buffer from = find_buffer("source", in, elements);
    if (!from.problem.empty()) return from.problem;
    const Buffer to = find_buffer("dest", out, elements);
    if (!to.problem.empty()) return to.problem;
    const auto call = form == Scan::inclusive ? weft_scan : weft_exscan;
    const weft_status status =
        call(team.team, in == out ? WEFT_IN_PLACE : from.at, to.at, elements.count, type, WEFT_SUM);
    if (status == WEFT_OK && form == Scan::exclusive && team.rank == 0 && to.bytes != 0)
        std::memset(to.at, 0, to.bytes);
    return outcome_of(status);
}

Outcome allgather(const weft_shmem_team& team, const void* in, void* out,
                  const Elements& elements) {
    const Buffer to = find_buffer("dest", out, elements, team.size);
    if (!to.problem.empty()) return to.problem;
    const Buffer from = find_buffer("source", in, elements);
    if (!from.problem.empty()) return from.problem;
    return outcome_of(weft_allgather(team.team, from.at, to.at, from.bytes, WEFT_UINT8));
}

Outcome collect(const weft_shmem_team& team, const void* in, void* out, const Elements& elements) {
    const Buffer from = find_buffer("source", in, elements);
    // A member with an unusable block sends this size, so that all members fail and none waits.
    constexpr std::size_t kUnusable = SIZE_MAX;
    const std::size_t mine = from.problem.empty() ? from.bytes : kUnusable;
    std::vector<std::size_t> counts(static_cast<std::size_t>(team.size));
    std::vector<std::size_t> displacements(counts.size());
    if (const auto status =
            weft_allgather(team.team, &mine, counts.data(), sizeof mine, WEFT_UINT8);
        status != WEFT_OK)
        return weft_last_error();
    if (!from.problem.empty()) return from.problem;
    std::size_t total = 0;
    for (std::size_t pe = 0; pe < counts.size(); ++pe) {
        if (__builtin_add_overflow(total, counts[pe], &total) || total > PTRDIFF_MAX)
            return "source: PE " + std::to_string(pe) +
                   " of the team cannot send its block, or the blocks of the PEs up to it exceed "
                   "the address space";
    }
    const Buffer to = find_buffer("dest", out, total);
    if (!to.problem.empty()) return to.problem;
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), std::size_t{0});
    return outcome_of(weft_allgatherv(team.team, from.at, to.at, counts.data(),
                                      displacements.data(), WEFT_UINT8));
}

Outcome alltoall(const weft_shmem_team& team, const void* in, void* out, const Elements& elements) {
    const Buffer from = find_buffer("source", in, elements, team.size);
    if (!from.problem.empty()) return from.problem;
    const Buffer to = find_buffer("dest", out, elements, team.size);
    if (!to.problem.empty()) return to.problem;
    return outcome_of(weft_alltoall(team.team, from.at, to.at,
                                    from.bytes / static_cast<std::size_t>(team.size), WEFT_UINT8));
}

namespace {

/// Finds a buffer with `elements` for each of `members` members. `stride` elements are from one
/// element to the next.
Buffer find_strided(const char* argument, const void* address, const Elements& elements,
                    int members, std::ptrdiff_t stride) {
    Buffer found = find_buffer(argument, address, elements, members);
    if (!found.problem.empty()) return found;
    if (stride < 1)
        return {.problem =
                    "dst, sst: a stride is " + std::to_string(stride) + ", expected 1 or more"};
    if (found.bytes == 0) return found;
    std::size_t bytes = 0;
    if (!multiply(found.bytes - elements.size, static_cast<std::size_t>(stride), &bytes) ||
        bytes > PTRDIFF_MAX - elements.size)
        return {.problem = "dst, sst: " + std::to_string(found.bytes / elements.size) +
                           " elements at a stride of " + std::to_string(stride) +
                           " exceed the address space"};
    return find_buffer(argument, address, bytes + elements.size);
}

}  // namespace

Outcome alltoall(const weft_shmem_team& team, const void* in, void* out, const Elements& elements,
                 const Strides& strides) {
    const Buffer from = find_strided("source", in, elements, team.size, strides.from);
    if (!from.problem.empty()) return from.problem;
    const Buffer to = find_strided("dest", out, elements, team.size, strides.to);
    if (!to.problem.empty()) return to.problem;
    return outcome_of(weft_alltoall_strided(
        team.team, from.at, static_cast<std::size_t>(strides.from), to.at,
        static_cast<std::size_t>(strides.to), elements.count, type_with_bytes(elements.size)));
}

}  // namespace weft::shmem
