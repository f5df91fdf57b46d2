// SPDX-License-Identifier: BSD-3-Clause
// Goal: the enumeration visits every schedule once. All schedules are valid, and their number
// agrees with count_schedules() and the published sums.
// Method: counts for every number of ranks. tests/system/cli/simulate_test.py has the published
// counts.
#include "collectives/notation/enumerate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collectives/notation/spec.hpp"

namespace weft::collectives {
namespace {

constexpr ScheduleFamily kFamilies[] = {ScheduleFamily::factored, ScheduleFamily::split,
                                        ScheduleFamily::merged};

std::uint64_t count_visits(Rank size, ScheduleFamily family) {
    std::uint64_t count = 0;
    for_each_schedule(size, family, [&](const Schedule&) {
        ++count;
        return true;
    });
    return count;
}

TEST(Enumerate, CountsMatchEnumerationAndPublishedSums) {
    std::uint64_t sums[3] = {};
    std::uint64_t up_to_32 = 0;  // schedules of at most 32 ranks
    std::uint64_t largest = 0;   // maximum for one number of ranks
    for (Rank size = 2; size <= 128; ++size) {
        std::uint64_t in_all_families = 0;
        for (const ScheduleFamily family : kFamilies) {
            const std::uint64_t count = count_visits(size, family);
            EXPECT_EQ(count, count_schedules(size, family)) << size;
            sums[static_cast<int>(family)] += count;
            in_all_families += count;
        }
        if (size <= 32) up_to_32 += in_all_families;
        largest = std::max(largest, in_all_families);
    }
    EXPECT_EQ(sums[0], 1441U);
    EXPECT_EQ(sums[1], 253458U);
    EXPECT_EQ(sums[2], 57456U);
    EXPECT_EQ(up_to_32, 5013U);
    EXPECT_EQ(largest, 9229U);
}

TEST(Enumerate, EveryScheduleIsValidUniqueAndParsedBack) {
    for (Rank size = 2; size <= 48; ++size) {
        std::set<std::string> seen;
        for (const ScheduleFamily family : kFamilies) {
            for_each_schedule(size, family, [&](const Schedule& schedule) {
                const std::string text = print(schedule);
                EXPECT_TRUE(seen.insert(text).second) << text;
                const auto shape = validate(schedule, size);
                EXPECT_TRUE(shape.ok()) << text << ": " << shape.failure().text;
                EXPECT_EQ(parse_spec(text)->schedule, schedule);
                return true;
            });
        }
    }
}

TEST(Enumerate, AVisitorCanStop) {
    for (const ScheduleFamily family : kFamilies) {
        int seen = 0;
        for_each_schedule(24, family, [&](const Schedule&) { return ++seen < 3; });
        EXPECT_EQ(seen, 3);
    }
}

}  // namespace
}  // namespace weft::collectives
