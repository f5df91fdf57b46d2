// SPDX-License-Identifier: BSD-3-Clause
// Goal: the blocks of measured calls hold all elements and have the sizes that the manual gives.
// Method: tests compare known sizes, and sums for many numbers of elements and blocks.
#include "tools/measure/block_sizes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::lab {
namespace {

std::vector<std::uint64_t> sizes_of(const BlockSizes& sizes) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t block = 0; block < sizes.blocks; ++block) all.push_back(sizes.size(block));
    return all;
}

TEST(BlockSizes, SizesEqualTheExamplesOfTheManual) {
    EXPECT_EQ(sizes_of({.elements = 64, .blocks = 4, .uneven = true}),
              (std::vector<std::uint64_t>{4, 12, 20, 28}));
    EXPECT_EQ(sizes_of({.elements = 64, .blocks = 4}), (std::vector<std::uint64_t>(4, 16)));
    EXPECT_EQ(sizes_of({.elements = 3, .blocks = 3, .uneven = true}),
              (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(sizes_of({.elements = 7, .blocks = 1, .uneven = true}),
              (std::vector<std::uint64_t>{7}));
}

TEST(BlockSizes, UnevenSizesAddUpAndNeverDecreaseByMoreThanOne) {
    for (const std::uint64_t elements : {0UL, 1UL, 17UL, 1000UL, 1UL << 50}) {
        for (std::uint64_t blocks = 1; blocks <= 70; ++blocks) {
            const BlockSizes sizes{.elements = elements, .blocks = blocks, .uneven = true};
            EXPECT_EQ(sizes.start(0), 0U);
            EXPECT_EQ(sizes.start(blocks), elements);
            for (std::uint64_t block = 1; block < blocks; ++block)
                EXPECT_GE(sizes.size(block) + 1, sizes.size(block - 1));
        }
    }
}

}  // namespace
}  // namespace weft::lab
