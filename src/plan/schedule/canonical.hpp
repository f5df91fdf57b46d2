// SPDX-License-Identifier: BSD-3-Clause
// canonical.hpp - canonical block table of a program.
//
// Idea     Programs with equal steps may have their lists of blocks at different positions of the
//          table. In the canonical table, lists are in the order in which steps name them, target
//          before source. A list that is equal to a run of blocks in the table is not added again:
//          it is *interned*. A program may omit this search (Program::repeats_blocks).
// Holds    canonical() changes only the positions of lists. Programs from the builder and the
//          parser are canonical, unless they repeat blocks.
#pragma once

#include <span>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

/// Returns the position of `list` in `table`. Appends the list if it is not in the table.
[[nodiscard]] BlockList intern_blocks(std::vector<Block>& table, std::span<const Block> list);

/// Index for interning lists in a table, in time that does not depend on the table's length. All
/// additions to the table must use the index.
class BlockIndex {
  public:
    /// Same as intern_blocks(). `table` must be the same in all calls.
    [[nodiscard]] BlockList intern(std::vector<Block>& table, std::span<const Block> list);
    /// Adds a list to the program's table. Interns it unless the program repeats blocks.
    [[nodiscard]] BlockList add_to(Program& program, std::span<const Block> list);

  private:
    struct HashEntry {
        std::uint32_t position = 0;  ///< position in the table + 1; 0: empty entry
        std::uint32_t hash = 0;      ///< hash of the block at that position
    };

    void add(HashEntry entry);
    void add(const std::vector<Block>& table, std::uint32_t hash);
    void grow(std::size_t blocks);

    std::vector<HashEntry> entries_;  ///< hash table with open addressing
    std::uint32_t indexed_ = 0;       ///< number of indexed positions, from 0 on
};

/// Returns the program with a canonical table.
[[nodiscard]] Program canonical(const Program& program);

[[nodiscard]] inline std::span<const Block> blocks_of(const Program& program, BlockList list) {
    return std::span(program.blocks).subspan(list.start, list.count);
}

}  // namespace weft::plan
