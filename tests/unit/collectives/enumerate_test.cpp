// SPDX-License-Identifier: BSD-3-Clause
// Goal: the enumeration gives every schedule once, all of them valid, as many as theory says.
// Method: published counts; walked and computed counts compared for every size.
#include "collectives/notation/enumerate.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft::collectives {
namespace {

std::uint64_t walked(Rank size, ScheduleFamily family) {
    std::uint64_t count = 0;
    for_each_schedule(size, family, [&](const Schedule&) {
        ++count;
        return true;
    });
    return count;
}

TEST(Enumerate, CountsMatchTheTable) {
    struct Row {
        Rank size;
        std::uint64_t factored, split, merged;
    };
    for (const Row& row :
         {Row{6, 3, 9, 1}, Row{7, 1, 12, 3}, Row{8, 4, 18, 3}, Row{10, 3, 32, 7}, Row{12, 8, 48, 9},
          Row{16, 8, 92, 20}, Row{24, 20, 232, 45}, Row{32, 16, 417, 89}, Row{48, 48, 1081, 186},
          Row{64, 32, 1803, 346}, Row{96, 112, 4835, 699}, Row{97, 1, 2290, 810},
          Row{127, 1, 3771, 1251}, Row{128, 64, 7503, 1251}}) {
        EXPECT_EQ(walked(row.size, ScheduleFamily::factored), row.factored) << row.size;
        EXPECT_EQ(walked(row.size, ScheduleFamily::split), row.split) << row.size;
        EXPECT_EQ(walked(row.size, ScheduleFamily::merged), row.merged) << row.size;
    }
}

TEST(Enumerate, SumsUpTo128AndTo32MatchAndCountingAgreesWithWalking) {
    std::uint64_t sums[3] = {};
    std::uint64_t small = 0;
    for (Rank size = 2; size <= 128; ++size) {
        for (const auto family :
             {ScheduleFamily::factored, ScheduleFamily::split, ScheduleFamily::merged}) {
            const std::uint64_t count = walked(size, family);
            EXPECT_EQ(count, count_schedules(size, family)) << size;
            sums[static_cast<int>(family)] += count;
            if (size <= 32) small += count;
        }
    }
    EXPECT_EQ(sums[0], 1441U);
    EXPECT_EQ(sums[1], 253458U);
    EXPECT_EQ(sums[2], 57456U);
    EXPECT_EQ(small, 5013U);
}

TEST(Enumerate, LargeSizesAreCountedWithoutWalking) {
    EXPECT_EQ(count_schedules(1000000, ScheduleFamily::factored), 287648U);
    EXPECT_EQ(count_schedules(524288, ScheduleFamily::factored), 262144U);
}

TEST(Enumerate, EverySchedulesIsValidUniqueAndPrintsBack) {
    for (Rank size = 2; size <= 48; ++size) {
        std::set<std::string> seen;
        for (const auto family :
             {ScheduleFamily::factored, ScheduleFamily::split, ScheduleFamily::merged}) {
            for_each_schedule(size, family, [&](const Schedule& schedule) {
                const std::string text = print(schedule);
                EXPECT_TRUE(seen.insert(text).second) << text;
                const auto shape = validate(schedule, size);
                EXPECT_TRUE(shape.ok()) << text << ": " << shape.failure().text;
                EXPECT_EQ(*parse_schedule(text), schedule);
                return true;
            });
        }
    }
}

TEST(Enumerate, AVisitorCanStop) {
    for (const auto family :
         {ScheduleFamily::factored, ScheduleFamily::split, ScheduleFamily::merged}) {
        int seen = 0;
        for_each_schedule(24, family, [&](const Schedule&) { return ++seen < 3; });
        EXPECT_EQ(seen, 3);
    }
}

}  // namespace
}  // namespace weft::collectives
