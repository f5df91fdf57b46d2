// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - calls whose blocks have counts: what they mean, who keeps them, what memory they touch.
//
// Idea     The arrays of a call are the caller's, and looked at in place: a call of the same counts and
//          displacements as the one before finds its plan by comparing them. Whoever needs them later (a
//          plan, a persistent request) has a copy.
// Next     plans.hpp for shapes of calls; team.hpp for the checks of buffers.
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
[[nodiscard]] inline bool same(const Blocks& a, const Blocks& b) {
    if (a.counts.empty() && b.counts.empty() && a.displacements.empty() && b.displacements.empty())
        return true;
    return compare(a, b) == 0;
}

/// Copies of what a call's blocks name. Stays where it is.
class HeldBlocks {
  public:
    HeldBlocks(const Blocks& in, const Blocks& out);
    HeldBlocks(const HeldBlocks&) = delete;
    HeldBlocks& operator=(const HeldBlocks&) = delete;

    [[nodiscard]] Blocks in() const { return in_; }
    [[nodiscard]] Blocks out() const { return out_; }

  private:
    std::vector<std::size_t> words_;
    Blocks in_;
    Blocks out_;
};

/// Refuses counts that are not one for each rank, displacements that are not, and sums that overflow.
/// what: "in" or "out".
[[nodiscard]] base::Result<void> check_blocks(const Blocks& blocks, std::string_view what,
                                              Rank size, std::uint64_t element_bytes);

/// "3,0,5", or the first ones and a digest of all.
[[nodiscard]] std::string to_text(std::span<const std::size_t> counts);

/// Where each block starts, in elements.
[[nodiscard]] std::vector<std::uint64_t> starts_of(const Blocks& blocks);

/// Some bytes behind the start of a caller's memory.
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
