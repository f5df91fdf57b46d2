// SPDX-License-Identifier: BSD-3-Clause
// splice.hpp - joins programs of groups of ranks to one program of all ranks, the *whole*.
//
// Idea     A part is a call in each of several groups: the ranks of each node, or one rank of each
//          node. A part's programs are made for a call among a group alone. splice() maps the
//          group's ranks and buffers to ranks and buffers of the whole. It numbers the part's slots
//          after the slots of the preceding parts, and cuts the buffers finely enough for all
//          parts. The parts run one after the other. If each part is one loop, segments of the
//          buffer can pass through all parts as a pipeline (Flow). If some parts of a pipeline cut
//          the buffer and others cut each block, the former work on a piece of every block.
// Why      Composed algorithms reuse the generators of calls in smaller groups.
// Holds    All ranks get the same header, because each knows the *shapes* of a part: programs with
//          the headers of all its groups. Incompatible shapes are rejected, on all ranks. A program
//          that differs from its shapes is a bug of its generator. Lanes of a rank wait for each
//          other by signals of the rank to itself.
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
    /// A program for each different header, equal on all ranks. Each program of the part has the
    /// header of a shape, and at most as many lanes as the shape with the most lanes.
    std::vector<std::shared_ptr<const Program>> shapes;
    std::optional<Program> own;         ///< this rank's program, if it is in a group
    std::function<Rank(Rank)> rank_of;  ///< returns a group rank's rank in the whole
    VectorName input{Buffer::input};
    VectorName output{Buffer::output};
    bool bare = false;  ///< keeps only the signals: no data of puts, no reductions or copies
    /// Returns the ranks of the whole whose blocks a group rank's block represents. No function if
    /// the buffers do not have a block for each rank.
    std::function<std::vector<Rank>(Rank)> blocks_of;
    Rank blocks_max = 1;  ///< largest number of blocks that one block represents
    /// The part works on range number `range` of the `ranges` equal ranges of each segment. With
    /// several ranges, blocks_of has no function, and the shapes have all segments.
    std::uint32_t range = 0;
    std::uint32_t ranges = 1;
};

/// Number of segments in flight in a pipeline (interleave()).
enum class Flow : std::uint8_t {
    one_segment,  ///< one at a time
    segments,     ///< several; one lane executes all parts of a segment
    parts,        ///< several; each part has a lane, and must be a correct loop on its own
};

/// Joins the parts. `header` has collective, algorithm, rank, size, root, synchronizing, and the
/// number of scratch buffers that the parts name as `input` or `output`. Fails if the parts are
/// incompatible.
[[nodiscard]] base::Result<Program> splice(Program header, const std::vector<SplicePart>& parts,
                                           Flow flow);

}  // namespace weft::plan
