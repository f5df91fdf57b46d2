// SPDX-License-Identifier: BSD-3-Clause
// splice.hpp - programs of groups of ranks, one after the other, as one program of all of them.
//
// Idea     A part is what some group of the ranks does: the ranks of each node, or one rank of each
//          node. Its programs are those of a call among the group alone. splice() names its ranks
//          as the whole team does, gives its slots numbers after those of the parts before, reads
//          and writes its vectors where the whole wants them, and cuts all vectors finely enough
//          for every part.
// Why      Whatever is composed of calls of smaller groups is made of the generators that exist.
// Holds    All ranks get the same header, because each knows the shapes of all groups of a part:
//          the programs' fields that are the same in a group. Parts whose programs are one loop
//          each become one loop, so that pieces of the vector follow each other through all parts
//          (if pieces are of the vector in all parts, or of each block in all). A part that goes
//          as a whole stands before or after the loops of the others.
//          What does not go together is refused on all ranks: by the shapes, which are the same on
//          all. A program that is of another form than its shapes is a bug of its generator.
//          Lanes of a part begin and end with it: the rank raises signals at itself.
// Next     layout.hpp for groups; collectives/README.md names who splices.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

/// One of the vectors that there are in a call.
struct VectorName {
    Buffer buffer = Buffer::input;
    std::uint32_t index = 0;  ///< of a scratch vector

    friend bool operator==(const VectorName&, const VectorName&) = default;
};

struct Part {
    /// Programs of some rank of each kind of group, the same on all ranks: their headers are those
    /// of all programs of that kind, and no program has more lanes.
    std::vector<std::shared_ptr<const Program>> shapes;
    std::optional<Program> own;         ///< what this rank does, if it is in a group
    std::function<Rank(Rank)> rank_of;  ///< rank in the whole of a rank of the group
    VectorName input{Buffer::input};
    VectorName output{Buffer::output};
    bool bare = false;  ///< only its signals: puts without data, nothing combined or copied
    /// Where the group's vector is cut into a block for each of its ranks, and the whole's
    /// likewise: the blocks of the whole that a block of the group stands for. None: both have one
    /// vector.
    std::function<std::vector<Rank>(Rank)> blocks_of;
    Rank blocks_most = 1;  ///< most that any block stands for
};

/// `header` says collective, algorithm, rank, size, root, synchronizing, and how many scratch
/// vectors the parts name; the rest follows from the parts. Fails if the parts' pieces do not go
/// together.
[[nodiscard]] base::Result<Program> splice(Program header, const std::vector<Part>& parts);

}  // namespace weft::plan
