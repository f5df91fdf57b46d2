// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - the blocks of calls with counts: what they mean and what memory they touch.
//
// Idea     The arrays of a call are the caller's and are compared in place: a call of the same
//          counts and displacements as the one before finds its plan without a copy.
// Next     call.hpp for a call that keeps copies; plan.hpp for the checks of memory.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "weft/call.hpp"

namespace weft::run {

/// By content.
[[nodiscard]] std::strong_ordering compare(const Blocks& a, const Blocks& b);

/// Refuses counts that are not one for each rank, displacements that are not, and sums that
/// overflow. what: "in" or "out".
[[nodiscard]] base::Result<void> check_blocks(const Blocks& blocks, std::string_view what,
                                              Rank size, std::uint64_t element_bytes);

/// "3,0,5", or the first ones and a digest of all.
[[nodiscard]] std::string to_text(std::span<const std::size_t> counts);

/// Where each block starts, in elements.
[[nodiscard]] std::vector<std::uint64_t> starts_of(const Blocks& blocks);

/// Some bytes of a vector or of memory, from its start.
struct Extent {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] std::uint64_t end() const { return offset + bytes; }
};
/// In order of offset, blocks that touch as one; without empty ones.
using Extents = std::vector<Extent>;
/// A failure names the block of `what` that overlaps another.
[[nodiscard]] base::Result<Extents> extents_of(const Blocks& blocks, std::string_view what,
                                               std::uint64_t element_bytes, bool may_overlap);
/// Whether memory that starts at `a` and at `b` shares a byte.
[[nodiscard]] bool overlap(const std::byte* a, const Extents& of_a, const std::byte* b,
                           const Extents& of_b);

}  // namespace weft::run
