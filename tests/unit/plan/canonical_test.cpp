// SPDX-License-Identifier: BSD-3-Clause
// Goal: the index of a table of blocks finds the same entries as a search of the table, for tables
// of any length.
// Method: the test adds thousands of random lists of few different blocks, so that the table
// already has many of the lists.
#include "plan/schedule/canonical.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::plan {
namespace {

TEST(BlockIndex, TheIndexAgreesWithASearch) {
    base::Random random(7);
    std::size_t lists_found = 0;  // number of lists that the table already had
    for (const std::uint64_t different_blocks : {20, 200, 5000}) {
        BlockIndex index;
        std::vector<Block> indexed;
        std::vector<Block> searched;
        for (int lists = 0; lists < 3000; ++lists) {
            std::vector<Block> list(random.below(4));
            for (Block& block : list) {
                const auto which = static_cast<std::uint32_t>(random.below(different_blocks));
                block = which % 2 == 0 ? input(which) : slot(which % 7, which, 2);
            }
            const std::size_t before = searched.size();
            const BlockList expected = intern_blocks(searched, list);
            lists_found += searched.size() == before && !list.empty() ? 1U : 0U;
            ASSERT_EQ(index.intern(indexed, list), expected);
            ASSERT_EQ(indexed.size(), searched.size());
        }
        EXPECT_EQ(indexed, searched);
        EXPECT_GT(indexed.size(), 64U) << "the index serves tables of more than 16 blocks";
    }
    EXPECT_GT(lists_found, 1000U);
}

}  // namespace
}  // namespace weft::plan
