// SPDX-License-Identifier: BSD-3-Clause
// Goal: ranks of a host start on different processors, but are not bound to them.
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <thread>
#include <vector>

#include "run/job/host_facts.hpp"

namespace weft::run {
namespace {

cpu_set_t set_of(std::initializer_list<int> processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors) CPU_SET(processor, &set);
    return set;
}

TEST(Placement, EachRankGetsItsOwnProcessor) {
    const std::vector<cpu_set_t> allowed(3, set_of({1, 4, 6, 7}));
    std::set<int> taken;
    for (std::size_t index = 0; index < allowed.size(); ++index) {
        const auto place = processor_for(allowed, index);
        ASSERT_TRUE(place.has_value());
        EXPECT_TRUE(CPU_ISSET(*place, &allowed[index]));
        taken.insert(*place);
    }
    EXPECT_EQ(taken.size(), allowed.size());
}

TEST(Placement, RanksAreSpreadEvenlyOverProcessors) {
    const std::vector<cpu_set_t> allowed(5, set_of({2, 6}));
    const int expected[] = {2, 2, 2, 6, 6};
    for (std::size_t index = 0; index < allowed.size(); ++index)
        EXPECT_EQ(processor_for(allowed, index), expected[index]) << "rank " << index;
}

TEST(Placement, RanksThatTheLauncherHasBoundAreNotMoved) {
    const std::vector<cpu_set_t> allowed{set_of({0, 1}), set_of({2, 3})};
    for (std::size_t index = 0; index < allowed.size(); ++index)
        EXPECT_EQ(processor_for(allowed, index), std::nullopt);
}

/// The last processor does not exist.
TEST(Placement, AThreadThatIsMovedKeepsItsAffinity) {
    std::thread([] {
        cpu_set_t before;
        ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
        for (int processor = 0; processor < CPU_SETSIZE; ++processor)
            if (CPU_ISSET(processor, &before) || processor == CPU_SETSIZE - 1) move_to(processor);
        cpu_set_t after;
        ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
        EXPECT_TRUE(CPU_EQUAL(&before, &after));
    }).join();
}

}  // namespace
}  // namespace weft::run
