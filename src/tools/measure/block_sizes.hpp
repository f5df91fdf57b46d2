// SPDX-License-Identifier: BSD-3-Clause
// block_sizes.hpp - block sizes of measured calls: equal or uneven.
//
// Idea     Uneven blocks grow linearly. Block i of n has (2 i + 1) / (n * n) of the elements: the
//          first block has 1/n of the mean size, the last almost twice the mean.
// Holds    Blocks are contiguous and cover each element once, even if these fractions are not whole
//          numbers of elements. Equal numbers of elements and blocks give equal sizes on all ranks.
#pragma once

#include <cstdint>

namespace weft::lab {

struct BlockSizes {
    std::uint64_t elements = 0;  ///< number of elements in all blocks together
    std::uint64_t blocks = 1;
    bool uneven = false;

    /// Returns the first element of a block; start(blocks) is the end of the last block.
    [[nodiscard]] std::uint64_t start(std::uint64_t block) const {
        __extension__ using Wide = unsigned __int128;  // products may exceed 2^64
        const Wide part = uneven ? Wide{block} * block : block;
        const Wide parts = uneven ? Wide{blocks} * blocks : blocks;
        return static_cast<std::uint64_t>(elements * part / parts);
    }
    [[nodiscard]] std::uint64_t size(std::uint64_t block) const {  // in elements
        return start(block + 1) - start(block);
    }
};

}  // namespace weft::lab
