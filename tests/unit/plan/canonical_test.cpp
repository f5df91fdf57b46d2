// SPDX-License-Identifier: BSD-3-Clause
// Goal: the index of a table of blocks finds the same entries as a search of the table, for
// tables of any length.
// Method: thousands of random lists of a few different blocks, so that many lists are in the table
// already.
#include "plan/schedule/canonical.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::plan {
namespace {

TEST(BlockIndex, TheIndexAgreesWithASearch) {
    base::Random random(7);
    std::size_t found_again = 0;
    for (const std::uint64_t kinds : {20, 200, 5000}) {  // number of different blocks
        BlockIndex index;
        std::vector<Block> indexed;
        std::vector<Block> searched;
        for (int lists = 0; lists < 3000; ++lists) {
            std::vector<Block> list(random.below(4));
            for (Block& block : list) {
                const auto which = static_cast<std::uint32_t>(random.below(kinds));
                block = which % 2 == 0 ? input(which) : slot(which % 7, which, 2);
            }
            const std::size_t before = searched.size();
            const BlockList expected = intern_blocks(searched, list);
            found_again += searched.size() == before && !list.empty() ? 1U : 0U;
            ASSERT_EQ(index.intern(indexed, list), expected);
            ASSERT_EQ(indexed.size(), searched.size());
        }
        EXPECT_EQ(indexed, searched);
        EXPECT_GT(indexed.size(), 64U);
    }
    EXPECT_GT(found_again, 1000U);
}

}  // namespace
}  // namespace weft::plan
