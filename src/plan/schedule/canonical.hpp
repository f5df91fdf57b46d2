// SPDX-License-Identifier: BSD-3-Clause
// canonical.hpp - one block table for one meaning.
//
// Idea     Two programs with the same steps may list their blocks in different places. The
//          canonical table is the one the builder makes: lists in the order in which the steps name
//          them (target before source), each put where an equal run of blocks already stands, if
//          any. Looking for that run takes up to a quarter of the time of making a program: one
//          that says so (Program::repeats_blocks) goes without.
// Holds    canonical() changes no step but for the positions of its lists. A program from the
//          builder or from the parser is canonical, unless it repeats blocks.
#pragma once

#include <span>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Finds `list` in `table`, or appends it.
[[nodiscard]] BlockList intern_blocks(std::vector<Block>& table, std::span<const Block> list);

/// The same for one table that grows by it alone, in time that does not grow with the table.
class BlockIndex {
  public:
    [[nodiscard]] BlockList intern(std::vector<Block>& table, std::span<const Block> list);
    /// Into the table of that program, as it says.
    [[nodiscard]] BlockList add_to(Program& program, std::span<const Block> list);

  private:
    struct Place {
        std::uint32_t position = 0;  ///< in the table, plus 1; 0: none
        std::uint32_t hash = 0;      ///< of the block there
    };

    void add(Place place);
    void add(const std::vector<Block>& table, std::uint32_t hash);
    void grow(std::size_t blocks);

    std::vector<Place> places_;  ///< open addressing, positions in order
    std::uint32_t known_ = 0;    ///< positions that are in
};

[[nodiscard]] Program canonical(const Program& program);

/// The blocks of a list.
[[nodiscard]] inline std::span<const Block> blocks_of(const Program& program, BlockList list) {
    return std::span(program.blocks).subspan(list.start, list.count);
}

}  // namespace weft::plan
