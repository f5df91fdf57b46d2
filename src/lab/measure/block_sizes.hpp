// SPDX-License-Identifier: BSD-3-Clause
// block_sizes.hpp - the blocks to measure calls with: all of one size, or each of its own.
//
// Idea     Uneven blocks grow evenly from the first to the last: of n blocks, block i has 2 i + 1
//          of n * n parts of the elements. The first has an n-th of the mean, the last nearly twice
//          the mean.
// Holds    Blocks follow each other and hold all elements, none twice, whatever is left over where
//          a part is no whole number. Who knows elements and blocks knows every size.
#pragma once

#include <cstdint>

namespace weft::lab {

struct BlockSizes {
    std::uint64_t elements = 0;  ///< of all blocks together
    std::uint64_t blocks = 1;
    bool uneven = false;

    /// Where a block starts; start(blocks) is the end.
    [[nodiscard]] std::uint64_t start(std::uint64_t block) const {
        __extension__ using Wide = unsigned __int128;  // products may pass 2^64
        const Wide part = uneven ? Wide{block} * block : block;
        const Wide parts = uneven ? Wide{blocks} * blocks : blocks;
        return static_cast<std::uint64_t>(elements * part / parts);
    }
    [[nodiscard]] std::uint64_t size(std::uint64_t block) const {
        return start(block + 1) - start(block);
    }
};

}  // namespace weft::lab
