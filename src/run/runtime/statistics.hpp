// SPDX-License-Identifier: BSD-3-Clause
// statistics.hpp - the table that WEFT_STATS=1 asks for: what ranks have done with each other's
// memory.
//
// Idea     Each rank has the same numbers as words, so the world gathers them in its last call
//          before the barrier of the end, and rank 0 prints a line for each rank and their sums.
// Next     start_log.hpp for what one rank says about itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "run/execute/operation.hpp"

namespace weft::link {
class DirectMemory;
}

namespace weft::run {

/// The columns of the table.
enum class Statistic : std::uint8_t {
    read_in_place,      ///< bytes of node-mates' memory
    read_by_kernel,     ///< likewise
    written_in_place,   ///< likewise
    written_by_kernel,  ///< likewise
    in_segment,         ///< buffers of this rank that a call exposed,
    adopted,            ///< likewise
    by_kernel,          ///< likewise
    adoptions,          ///< buffers whose pages were replaced
    adopted_bytes,      ///< now
    given_back,         ///< adoptions that were ended
    lost,               ///< of these, because other memory lay there
    refused,            ///< adoptions that were due and did not take place
    mapped,             ///< objects of mates
    not_mapped,         ///< uses of objects that could not be mapped, or had no room
    bounced,            ///< buffers of this rank that it copied into its segment for a call
};
inline constexpr std::size_t kStatistics = 15;
using Statistics = std::array<std::uint64_t, kStatistics>;

/// Of one rank. direct: nullptr where no memory of node-mates is reached.
[[nodiscard]] Statistics statistics_of(const MappedBytes& moved, const link::DirectMemory* direct);
/// Lines of text, by rank, with a head and sums.
[[nodiscard]] std::vector<std::string> table_of(std::span<const Statistics> ranks);

}  // namespace weft::run
