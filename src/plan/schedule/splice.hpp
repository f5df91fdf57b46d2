// SPDX-License-Identifier: BSD-3-Clause
// splice.hpp - joins programs of groups of ranks, one after the other, to one program of all ranks.
//
// Idea     A part is a call among a group of ranks: the ranks of each node, or one rank of each
//          node. Its programs are made for a call among the group alone. splice() maps its ranks
//          and buffers to ranks and buffers of the whole team, numbers its slots after the slots
//          of the preceding parts, and cuts the buffers finely enough for all parts.
// Why      Composed algorithms reuse the generators of calls in smaller groups.
// Holds    All ranks get the same header, because each knows the shapes of all groups of a part:
//          the fields of programs that are equal in a group. If each part is one loop, pieces of
//          the buffer pass through all parts as a pipeline (Flow). If some parts cut the buffer and
//          others cut each block, the former work on a piece of every block (part_blocks.hpp).
//          Other parts run one after the other. Incompatible parts are rejected on all ranks, by
//          their shapes. A program that differs from its shapes is a bug of its generator. Lanes of
//          a rank wait for each other by signals of the rank to itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Name of a buffer of the joined program: input, output or a scratch buffer.
struct VectorName {
    Buffer buffer = Buffer::input;
    std::uint32_t index = 0;  ///< number of a scratch buffer

    friend bool operator==(const VectorName&, const VectorName&) = default;
};

struct SplicePart {
    /// At least one program of each kind of group, equal on all ranks. All programs of that kind
    /// have the same header, and at most the lanes of the shape with the most.
    std::vector<std::shared_ptr<const Program>> shapes;
    std::optional<Program> own;         ///< this rank's program, if it is in a group
    std::function<Rank(Rank)> rank_of;  ///< maps a rank of the group to a rank of the whole
    VectorName input{Buffer::input};
    VectorName output{Buffer::output};
    bool bare = false;  ///< keeps only the signals: puts without data, no reductions or copies
    /// Maps a block of the group to the blocks of the whole that it represents, if both buffers
    /// have a block for each rank; empty: the buffers have no blocks.
    std::function<std::vector<Rank>(Rank)> blocks_of;
    Rank blocks_max = 1;  ///< largest number of blocks that one block represents
    /// The part works on range number `range` of the `ranges` equal ranges of each segment of the
    /// whole. With several ranges blocks_of is empty, and the shapes have all segments.
    std::uint32_t range = 0;
    std::uint32_t ranges = 1;
};

/// Segments of merged parts that are in flight (interleave.hpp).
enum class Flow : std::uint8_t {
    one_segment,  ///< one at a time
    segments,     ///< several; each passes through all parts in one lane
    /// Several. Each part has a lane, so each part must be a correct loop without the others.
    parts,
};

/// Joins the parts. `header` sets collective, algorithm, rank, size, root, synchronizing, and the
/// number of scratch buffers that the parts name; the parts determine the rest. Fails if the
/// parts are incompatible.
[[nodiscard]] base::Result<Program> splice(Program header, const std::vector<SplicePart>& parts,
                                           Flow flow);

}  // namespace weft::plan
