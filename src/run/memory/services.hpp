// SPDX-License-Identifier: BSD-3-Clause
// services.hpp - the objects of a runtime that symmetric memory and one-sided calls use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include "link/heap/allocator.hpp"
#include "run/team/team.hpp"

namespace weft::run {

class ActiveMessages;
class SetupLock;

struct MemoryServices : TeamServices {
    ActiveMessages& messages;
    SetupLock& setup;
    std::byte* segment;  ///< start of this rank's segment in this process
    std::uint64_t heap;  ///< offset of the heap in the segment
    std::uint64_t end;   ///< offset of the end of heap and segment; 0: the runtime is finalized
    /// Locks that a thread of this rank holds or waits for. Accessed only with the engine's turn.
    std::set<const std::uint64_t*> locks = {};

    [[nodiscard]] bool closed() const { return end == 0; }
    /// Returns the offset in this rank's segment; at least the segment's size for other memory.
    [[nodiscard]] std::uint64_t offset_of(const void* memory) const {
        return reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(segment);
    }
    /// Returns the offset in the segment of memory in the heap; link::kNoOffset for other memory.
    [[nodiscard]] std::uint64_t heap_offset(const void* memory) const {
        const std::uint64_t offset = offset_of(memory);
        return offset >= heap && offset < end ? offset : link::kNoOffset;
    }
};

/// Minimum and maximum of a number over the members of a team.
struct MinMax {
    std::uint64_t min = 0;
    std::uint64_t max = 0;

    [[nodiscard]] bool agreed() const { return min == max; }
};

/// Returns the minima and maxima of N numbers over all members. Collective.
template <std::size_t N>
base::Result<std::array<MinMax, N>> min_max(Team& team, const std::array<std::uint64_t, N>& mine,
                                            Purpose purpose) {
    std::array<std::uint64_t, 2 * N> words;
    for (std::size_t i = 0; i < N; ++i) {
        words[i] = mine[i];
        words[N + i] = ~mine[i];  // the complement's maximum gives the minimum
    }
    if (const base::Failure* const why = team.run(
            Call::allreduce(words.data(), words.data(), words.size(), Type::uint64, Op::max),
            purpose))
        return *why;
    std::array<MinMax, N> found;
    for (std::size_t i = 0; i < N; ++i) found[i] = {~words[N + i], words[i]};
    return found;
}

}  // namespace weft::run
