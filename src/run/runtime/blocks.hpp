// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - the blocks of calls with counts: their checks and their memory.
//
// Idea     A call's arrays belong to the caller and are compared in place. So a call with the
//          counts and displacements of the previous one finds its plan without a copy.
// Next     call.hpp for copies of the arrays; plan.hpp for the checks of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/extent.hpp"
#include "base/result.hpp"
#include "weft/call.hpp"

namespace weft::run {

/// Compares by content.
[[nodiscard]] inline bool equal(const Blocks& a, const Blocks& b) {
    return std::ranges::equal(a.counts, b.counts) &&
           std::ranges::equal(a.displacements, b.displacements);
}

/// Fails unless there is one count for each rank, displacements for none or for each rank, and no
/// overflow. `what` is "in" or "out".
[[nodiscard]] base::Result<void> check_blocks(const Blocks& blocks, std::string_view what,
                                              Rank size, std::uint64_t element_bytes);

/// Returns "3,0,5", or the first counts and a digest of all.
[[nodiscard]] std::string to_text(std::span<const std::size_t> counts);

/// Returns the start of each block, in elements.
[[nodiscard]] std::vector<std::uint64_t> starts_of(const Blocks& blocks);

using base::Extent;
/// Extents from the start of a buffer, in order of offset, not empty. Adjacent blocks are merged.
using Extents = std::vector<Extent>;
/// Returns the extents of blocks. Fails if blocks overlap although they must not; the failure names
/// `what` and the ranks.
[[nodiscard]] base::Result<Extents> extents_of(const Blocks& blocks, std::string_view what,
                                               std::uint64_t element_bytes, bool may_overlap);
/// Returns true if the extents, from starts `a` and `b`, share a byte.
[[nodiscard]] bool overlap(const std::byte* a, const Extents& of_a, const std::byte* b,
                           const Extents& of_b);

}  // namespace weft::run
