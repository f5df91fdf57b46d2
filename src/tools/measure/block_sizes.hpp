// SPDX-License-Identifier: BSD-3-Clause
// block_sizes.hpp - block sizes of measured calls: equal or uneven.
//
// Idea     Uneven blocks grow linearly. Of n blocks, block i has 2 i + 1 of n * n parts of the
//          elements: the first has 1/n of the mean size, the last almost twice the mean.
// Holds    Blocks are contiguous and cover each element once, also if a part is not a whole number
//          of elements. The number of elements and of blocks determines all sizes.
#pragma once

#include <cstdint>

namespace weft::lab {

struct BlockSizes {
    std::uint64_t elements = 0;  ///< of all blocks together
    std::uint64_t blocks = 1;
    bool uneven = false;

    /// Returns the start of a block; start(blocks) is the end of the last one.
    [[nodiscard]] std::uint64_t start(std::uint64_t block) const {
        __extension__ using Wide = unsigned __int128;  // products may exceed 2^64
        const Wide part = uneven ? Wide{block} * block : block;
        const Wide parts = uneven ? Wide{blocks} * blocks : blocks;
        return static_cast<std::uint64_t>(elements * part / parts);
    }
    [[nodiscard]] std::uint64_t size(std::uint64_t block) const {
        return start(block + 1) - start(block);
    }
};

}  // namespace weft::lab
