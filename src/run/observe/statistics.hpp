// SPDX-License-Identifier: BSD-3-Clause
// statistics.hpp - the table of WEFT_STATS=1 about accesses to memory of local peers.
//
// Idea     Each rank counts the same items. Rank 0 prints a line for each rank, and their sums.
// Next     run/job/describe.hpp for the counts, and the log of one rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::run {

/// Columns of the table.
enum class Statistic : std::uint8_t {
    read_in_place,      ///< bytes of peers' memory, read in place
    read_by_kernel,     ///< bytes of peers' memory, read by the kernel
    written_in_place,   ///< bytes of peers' memory, written in place
    written_by_kernel,  ///< bytes of peers' memory, written by the kernel
    in_segment,         ///< exposed buffers in the segment
    adopted,            ///< exposed buffers that were remapped
    by_kernel,          ///< exposed buffers that the kernel copies
    adoptions,          ///< buffers that were remapped
    adopted_bytes,      ///< bytes remapped now
    given_back,         ///< remapped buffers that became private again
    lost,               ///< remapped buffers that lost their memory
    refused,            ///< due remappings that failed
    mapped,             ///< objects of peers that were mapped
    not_mapped,         ///< uses of objects that could not be mapped, or had no room
    bounced,            ///< buffers of this rank that it copied into its segment for a call
};
inline constexpr std::size_t kStatistics = 15;
using Statistics = std::array<std::uint64_t, kStatistics>;

/// Returns the counts of a rank as bytes for table_of().
[[nodiscard]] std::string packed(const Statistics& statistics);
/// Returns lines of text, by rank, with a head and sums. `texts` has the bytes of packed().
[[nodiscard]] base::Result<std::vector<std::string>> table_of(std::span<const std::string> texts);

}  // namespace weft::run
