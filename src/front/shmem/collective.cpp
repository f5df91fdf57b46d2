// SPDX-License-Identifier: BSD-3-Clause
// collective.cpp - collectives of weft for buffers of an OpenSHMEM program.
//
// Holds    Variables are given by their place in the heap: node-mates read and write them there,
//          which they cannot where the program sees them.
#include "front/shmem/collective.hpp"

#include <numeric>

namespace weft::shmem {

weft_status meet(const weft_shmem_team& team) {
    return weft_barrier(team.team);
}

weft_status broadcast(const weft_shmem_team& team, void* buffer, std::size_t bytes, int root) {
    return weft_broadcast(team.team, in_heap(buffer), bytes, WEFT_UINT8, root);
}

weft_status allreduce(const weft_shmem_team& team, const void* in, void* out, std::size_t count,
                      weft_type type, weft_op op) {
    const void* const from = in == out ? WEFT_IN_PLACE : in_heap(in);
    return weft_allreduce(team.team, from, in_heap(out), count, type, op);
}

weft_status allgather(const weft_shmem_team& team, const void* in, void* out, std::size_t bytes) {
    return weft_allgather(team.team, in_heap(in), in_heap(out), bytes, WEFT_UINT8);
}

weft_status collect(const weft_shmem_team& team, const void* in, void* out, std::size_t bytes) {
    std::vector<std::size_t> counts(static_cast<std::size_t>(team.size));
    std::vector<std::size_t> displacements(counts.size());
    if (const auto status = allgather(team, &bytes, counts.data(), sizeof bytes); status != WEFT_OK)
        return status;
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), std::size_t{0});
    return weft_allgatherv(team.team, in_heap(in), in_heap(out), counts.data(),
                           displacements.data(), WEFT_UINT8);
}

weft_status alltoall(const weft_shmem_team& team, const void* in, void* out, std::size_t bytes) {
    return weft_alltoall(team.team, in_heap(in), in_heap(out), bytes, WEFT_UINT8);
}

weft_status alltoall(const weft_shmem_team& team, const void* in, void* out, std::size_t count,
                     const Strides& strides) {
    const std::size_t size = strides.element_bytes;
    const std::size_t elements = count * static_cast<std::size_t>(team.size);
    std::vector<std::byte> packed(elements * size);
    std::vector<std::byte> arrived(elements * size);
    const auto* from = static_cast<const std::byte*>(in);
    for (std::size_t i = 0; i < elements; ++i)
        std::memcpy(&packed[i * size], from + static_cast<std::ptrdiff_t>(i * size) * strides.from,
                    size);
    const weft_status status = alltoall(team, packed.data(), arrived.data(), count * size);
    auto* const to = static_cast<std::byte*>(out);
    for (std::size_t i = 0; status == WEFT_OK && i < elements; ++i)
        std::memcpy(to + static_cast<std::ptrdiff_t>(i * size) * strides.to, &arrived[i * size],
                    size);
    return status;
}

}  // namespace weft::shmem
