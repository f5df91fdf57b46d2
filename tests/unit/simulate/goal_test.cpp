// SPDX-License-Identifier: BSD-3-Clause
// Goal: programs written as GOAL and read again take the time that the engines say and that a
// person computes; what is no GOAL is refused with the line. Method: hand-computed times, and
// random schedules.
#include "lab/simulate/goal.hpp"

#include <gtest/gtest.h>

#include "collectives/notation/enumerate.hpp"
#include "tests/unit/simulate/ask.hpp"

namespace weft::lab::test {
namespace {

Time goal_time(const Question& question, const ModelParameters& parameters) {
    const MessageModel model = message_model(parameters);
    const auto text = to_goal(programs_of(question), size_of(question), model);
    EXPECT_TRUE(text.ok()) << text.failure().text;
    const auto outcome = simulate_goal(*text, model);
    EXPECT_TRUE(outcome.ok()) << outcome.failure().text;
    return outcome ? outcome->makespan : -1;
}

constexpr ModelParameters kInfiniband{
    .model = WireModel::loggp, .latency = 6'000'000, .overhead = 4'700'000, .byte_fs = 730'000};
constexpr ModelParameters kPaper{
    .latency = 500'000, .issue = 100'000, .reduce = 10'000, .byte_fs = 400'000};

TEST(Goal, SixteenRanksOfADisseminationTakeWhatAPersonComputes) {
    const Question one{.collective = "barrier", .spec = "dissemination", .request = {.size = 16}};
    // Four rounds of a signal: overhead, latency, overhead.
    EXPECT_EQ(goal_time(one, kInfiniband), 4 * (2 * 4'700'000 + 6'000'000));
    // Issue and latency.
    EXPECT_EQ(goal_time(one, kPaper), 4 * 600'000);
    const Question three{
        .collective = "barrier", .spec = "dissemination:k=3", .request = {.size = 16}};
    // Two rounds of three signals: a rank is busy sending until 3 o, longer than the first one
    // takes to arrive; then it takes three, one after the other.
    EXPECT_EQ(goal_time(three, kInfiniband), 2 * 6 * 4'700'000);
    EXPECT_EQ(goal_time(three, kPaper), 2 * (3 * 100'000 + 500'000));
}

TEST(Goal, AgreesWithTheEnginesOnAllSmallSchedules) {
    for (Rank size = 2; size <= 9; ++size) {
        for (int family = 0; family < 3; ++family)
            collectives::for_each_schedule(
                size, static_cast<collectives::ScheduleFamily>(family),
                [&](const collectives::Schedule& schedule) {
                    const Question question{.spec = collectives::print(schedule),
                                            .request = {.size = size, .elements = 8}};
                    for (const ModelParameters& parameters : {kInfiniband, kPaper}) {
                        Surroundings around;
                        around.model = message_model(parameters);
                        const auto outcome = generic(question, around);
                        EXPECT_EQ(goal_time(question, parameters), outcome.makespan)
                            << question.spec;
                    }
                    return true;
                });
    }
    for (const char* spec : {"binomial", "flat", "binomial:segments=4"}) {
        const Question question{.collective = "broadcast",
                                .spec = spec,
                                .request = {.size = 11, .root = 0, .elements = 64}};
        Surroundings around;
        around.model = message_model(kInfiniband);
        EXPECT_EQ(goal_time(question, kInfiniband), generic(question, around).makespan) << spec;
    }
}

TEST(Goal, TextThatIsNoneIsRefusedWithTheLine) {
    const MessageModel model = message_model(kPaper);
    const auto right = simulate_goal(
        "num_ranks 2\n// two ranks\nrank 0 {\n l1: calc 100 cpu 0\n l2: send 8b to 1 tag 3 cpu 0 "
        "nic 0\n l2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0 tag 3\n}\n",
        model);
    ASSERT_TRUE(right.ok()) << right.failure().text;
    EXPECT_EQ(right->makespan, 100'000 + 103'200 + 500'000);
    for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
             {"", "num_ranks is missing"},
             {"num_ranks x", "line 1: 'x' is not a number"},
             {"num_ranks 1\nrank 1 {", "line 2: '1' is not a number of 0..0"},
             {"num_ranks 1\ncalc 5", "line 2: 'calc' stands outside"},
             {"num_ranks 1\nrank 0 {\n", "rank 0 is not closed"},
             {"num_ranks 1\nrank 0 {\njump 5\n}", "line 3: expected calc, send or recv"},
             {"num_ranks 1\nrank 0 {\ncalc 5 cpu 1\n}", "only cpu 0"},
             {"num_ranks 1\nrank 0 {\nsend 5 to 0 tag 1\n}", "expected send Nb to R tag T"},
             {"num_ranks 1\nrank 0 {\nl1 requires l2\n}", "line 3: no operation has that label"},
             {"num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 1\n}", "line 4: l1 is given twice"},
             {"num_ranks 2\nrank 0 {\nrecv 1b from 1 tag 0\n}\nrank 1 {\n}",
              "rank 0 waits for what is never sent"}}) {
        const auto refused = simulate_goal(text, model);
        ASSERT_FALSE(refused.ok()) << text;
        EXPECT_NE(refused.failure().text.find(words), std::string::npos) << refused.failure().text;
    }
}

}  // namespace
}  // namespace weft::lab::test
