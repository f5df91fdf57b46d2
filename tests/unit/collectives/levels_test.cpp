// SPDX-License-Identifier: BSD-3-Clause
// Goal: the arithmetic between levels is right in both directions and keeps rank order.
// Method: every split and merge of small levels, compared with tables built by hand.
#include "collectives/patterns/levels.hpp"

#include <gtest/gtest.h>

#include "collectives/patterns/binomial.hpp"
#include "collectives/patterns/exchange.hpp"

namespace weft::collectives::patterns {
namespace {

TEST(Levels, SplitKeepsTheLastOfEachGroupInOrder) {
    for (Rank active = 2; active <= 24; ++active) {
        for (Rank base = 2; base <= active; ++base) {
            for (Rank grouped = base; grouped <= active; grouped += base) {
                const Split split{grouped, base};
                Rank inner = 0;
                for (Rank outer = 0; outer < active; ++outer) {
                    const auto place = split.place_of(outer);
                    const bool grouped_rank = outer < grouped;
                    EXPECT_EQ(place.group, grouped_rank ? outer / base : kInactive);
                    EXPECT_EQ(place.position, grouped_rank ? outer % base : kInactive);
                    if (grouped_rank && outer % base != base - 1) {
                        EXPECT_EQ(place.inner, kInactive);
                        continue;
                    }
                    EXPECT_EQ(place.inner, inner);
                    EXPECT_EQ(split.outer_of(inner), outer);
                    ++inner;
                }
                EXPECT_EQ(inner, active - grouped / base * (base - 1));
            }
        }
    }
}

TEST(Levels, OrderedMergePutsRemaindersBeforeTheirGroup) {
    for (Rank remainders = 1; remainders <= 9; ++remainders) {
        for (Rank groups = 1; groups <= 5; ++groups) {
            for (Rank base = 2; base <= 4; ++base) {
                const Merge merge{remainders, groups, base, Placement::ordered};
                Rank outer = 0;
                for (Rank group = 0; group < groups; ++group) {
                    EXPECT_EQ(merge.attached(group), (remainders - group + groups - 1) / groups);
                    for (Rank i = group; i < remainders; i += groups, ++outer) {
                        EXPECT_EQ(merge.place_of(outer).remainder, i);
                        EXPECT_EQ(merge.place_of(outer).inner, kInactive);
                        EXPECT_EQ(merge.outer_of_remainder(i), outer);
                    }
                    for (Rank j = 0; j < base; ++j, ++outer) {
                        EXPECT_EQ(merge.place_of(outer).inner, group * base + j);
                        EXPECT_EQ(merge.place_of(outer).remainder, kInactive);
                        EXPECT_EQ(merge.outer_of(group * base + j), outer);
                    }
                }
                EXPECT_EQ(outer, remainders + groups * base);
            }
        }
    }
}

TEST(Levels, PaperMergePutsAllRemaindersFirst) {
    const Merge merge{3, 2, 2, Placement::paper};
    for (Rank outer = 0; outer < 7; ++outer) {
        EXPECT_EQ(merge.place_of(outer).remainder, outer < 3 ? outer : kInactive);
        EXPECT_EQ(merge.place_of(outer).inner, outer < 3 ? kInactive : outer - 3);
    }
    EXPECT_EQ(merge.outer_of(2), 5);
    EXPECT_EQ(merge.outer_of_remainder(2), 2);
}

TEST(Levels, MappingsComposeFromTheInnermostLevelOut) {
    Levels levels;
    EXPECT_EQ(levels.rank_of(5), 5);
    levels.push(Split{4, 2});                         // 7 ranks -> 1 3 4 5 6
    levels.push(Merge{1, 2, 2, Placement::ordered});  // wid 0 set aside -> 3 4 5 6
    EXPECT_EQ(levels.rank_of(0), 3);
    EXPECT_EQ(levels.rank_of(3), 6);
    levels.pop();
    EXPECT_EQ(levels.rank_of(0), 1);
}

TEST(Exchange, GroupsDifferInOneDigit) {
    const Exchange group{.stride = 2, .base = 3};  // blocks of six: {0,2,4}, {1,3,5}, ...
    EXPECT_EQ(group.position_of(9), 1);
    EXPECT_EQ(group.member(9, 0), 7);
    EXPECT_EQ(group.member(9, 1), 9);
    EXPECT_EQ(group.member(9, 2), 11);
}

TEST(Binomial, EveryNodeIsTheChildOfItsParentOnce) {
    for (Rank size = 1; size <= 70; ++size) {
        const Binomial tree{size};
        std::vector<int> seen(static_cast<std::size_t>(size), 0);
        std::uint32_t most = 0;
        for (Rank v = 0; v < size; ++v) {
            std::uint32_t index = 0;
            for (const Rank child : tree.children(v)) {
                EXPECT_EQ(Binomial::parent(child), v);
                EXPECT_EQ(tree.child_index(child), index++);
                ++seen[static_cast<std::size_t>(child)];
            }
            most = std::max(most, index);
        }
        EXPECT_EQ(most, tree.children_max());
        for (Rank v = 1; v < size; ++v) EXPECT_EQ(seen[static_cast<std::size_t>(v)], 1) << v;
        EXPECT_EQ(seen[0], 0);
    }
}

}  // namespace
}  // namespace weft::collectives::patterns
