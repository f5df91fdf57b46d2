// SPDX-License-Identifier: BSD-3-Clause
// Goal: the reader returns the cores that the kernel lets this process use, and the distances of
// devices from processors.
// Method: cores are compared with the affinity mask, whole and reduced to one processor.
// two_packages.xml describes a machine of two packages: processors 0 and 1 with the device on bus
// 0x01, and 2 and 3 with the device on bus 0x81.
#include "topology/hwloc_reader.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <set>

namespace weft::topology {
namespace {

std::set<int> processors_of(const std::vector<Processors>& cores) {
    std::set<int> processors;
    for (const Processors& core : cores) {
        EXPECT_FALSE(core.empty());
        for (const int processor : core)
            EXPECT_TRUE(processors.insert(processor).second) << "twice: " << processor;
    }
    return processors;
}

std::set<int> affinity() {
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    std::set<int> processors;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (CPU_ISSET(processor, &set)) processors.insert(processor);
    }
    return processors;
}

TEST(HwlocReader, CoresHoldEachUsableProcessorOnce) {
    const auto machine = read_machine();
    ASSERT_TRUE(machine.ok());
    EXPECT_EQ(processors_of(machine->usable_cores), affinity());
}

TEST(HwlocReader, AProcessBoundToOneProcessorSeesOneCore) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const int chosen = *affinity().rbegin();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(chosen, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const auto machine = read_machine();
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    ASSERT_TRUE(machine.ok());
    EXPECT_EQ(machine->usable_cores, std::vector<Processors>(1, Processors{chosen}));
}

TEST(HwlocReader, DistancesCountTheLevelsUpToACommonPart) {
    ::setenv("HWLOC_XMLFILE", TWO_PACKAGES, 1);
    const PciAddress devices[] = {{.bus = 0x01}, {.bus = 0x81}, {.bus = 0x05}};  // 0x05: unknown
    const std::vector<int> processors[] = {{0, 1}, {3}, {1, 2}};
    const auto distances = device_distances(devices, processors);
    ::unsetenv("HWLOC_XMLFILE");
    ASSERT_TRUE(distances.ok());
    EXPECT_EQ(*distances, (std::vector<std::vector<int>>{{0, 1, -1}, {1, 0, -1}, {0, 0, -1}}));
}

}  // namespace
}  // namespace weft::topology
