// SPDX-License-Identifier: BSD-3-Clause
// Goal: a local or remote message occupies its sender and its receiver for its cost, even if
// receiving a local message costs most.
// Method: machines on which a local message occupies its receiver longer than a remote message
// occupies both ranks. A model that subtracts this cost from the sender's time would get a negative
// time.
#include "plan/select/put_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/team/choice.hpp"

namespace weft::plan {
namespace {

Machine machine_of(Time near_receive, Time far_receive, Rank far_ranks) {
    Machine machine;
    machine.near = {.latency = 100, .issue = 10, .receive = near_receive};
    machine.far = {.latency = 1000, .issue = 100, .receive = far_receive};
    machine.node_of = {0, 0};
    machine.node_of.resize(2 + static_cast<std::size_t>(far_ranks), 1);
    return machine;
}

TEST(PutModels, AMessageHasTheCostsOfItsPathAtBothEnds) {
    for (const Time near_receive : {Time{20}, Time{120}, Time{500}})
        for (const Time far_receive : {Time{0}, Time{50}, Time{200}}) {
            const Machine machine = machine_of(near_receive, far_receive, 2);
            const PutModels models = put_models(machine, /*waits=*/true, /*computes=*/true);
            ASSERT_TRUE(models.far);
            const Time received = models.model.receive;
            EXPECT_EQ(models.model.busy(0) + received, 10 + near_receive);
            EXPECT_EQ(models.far->model.busy(0) + received, 100 + far_receive);
            // A sender is busy for each message, at least for the time of sending it.
            EXPECT_GE(models.model.busy(0), 10);
            EXPECT_GE(models.far->model.busy(0), 100);
        }
    const PutModels waits = put_models(machine_of(500, 50, 2), /*waits=*/true, /*computes=*/false);
    EXPECT_EQ(waits.model.busy(0), 0);
    EXPECT_EQ(waits.far->model.busy(0), 0);
}

TEST(PutModels, ARootIsBusyForEachRemoteReceiver) {
    constexpr Rank kRemoteRanks = 14;
    const Machine machine = machine_of(500, 50, kRemoteRanks);
    const auto choice = run::rank_algorithms(
        machine, 2 + kRemoteRanks, {.collective = "scatter", .elements = 1, .element_bytes = 8});
    ASSERT_TRUE(choice.ok());
    const auto flat = std::ranges::find(choice->candidates, "flat", &RankedCandidate::algorithm);
    ASSERT_NE(flat, choice->candidates.end());
    EXPECT_GE(flat->alone, kRemoteRanks * 100 + 1000 + 50);
}

}  // namespace
}  // namespace weft::plan
