// SPDX-License-Identifier: BSD-3-Clause
// Goal: the arithmetic of stages and its inverse are right, and stages are converted to the right
// programs.
// Method: all numbers of small numberings, groups and remainders are converted in both directions.
// A handmade exchange is converted to programs, which the verifier checks.
#include "plan/schedule/stages.hpp"

#include <gtest/gtest.h>

#include <set>

#include "plan/schedule/step.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {
namespace {

TEST(Numbering, OuterAndInnerNumbersAreInverse) {
    // `last`: the last rank of each of four triples, then ranks 12 to 14. `pairs`: two of every
    // five ranks, from rank 1 on.
    const Numbering last{.count = 7,
                         .runs = {{.first = 2, .count = 4, .pitch = 3},
                                  {.first = 12, .count = 3, .width = 3, .pitch = 3}}};
    const Numbering pairs{.count = 5, .runs = {{.first = 1, .count = 5, .width = 2, .pitch = 5}}};
    EXPECT_EQ(last.outer_of(3), 11);
    EXPECT_EQ(last.outer_of(6), 14);
    EXPECT_EQ(pairs.outer_of(3), 7);
    for (const Numbering& numbering : {last, pairs}) {
        std::set<Rank> numbered;
        for (Rank number = 0; number < numbering.count; ++number) {
            const Rank outer = numbering.outer_of(number);
            EXPECT_EQ(numbering.number_of(outer), number);
            numbered.insert(outer);
        }
        EXPECT_EQ(numbered.size(), static_cast<std::size_t>(numbering.count));
        for (Rank outer = 0; outer < 20; ++outer)
            EXPECT_EQ(numbering.number_of(outer) == kNoNumber, !numbered.contains(outer))
                << "rank " << outer;
    }
}

TEST(Numbering, ChainsOfNumberingsGiveRanks) {
    Stages stages = begin_stages({.size = 15});
    stages.add_numbering(0, {{.first = 2, .count = 5, .pitch = 3}});  // 2 5 8 11 14
    stages.add_numbering(1, {{.first = 1, .count = 2, .pitch = 2}});  // 5 11
    EXPECT_EQ(stages.rank_of(0, 9), 9);
    EXPECT_EQ(stages.rank_of(1, 3), 11);
    EXPECT_EQ(stages.rank_of(2, 0), 5);
    EXPECT_EQ(stages.rank_of(2, 1), 11);
}

TEST(Exchange, GroupsAndPositionsIdentifyEachMemberOnce) {
    for (const Rank stride : {1, 2, 6}) {
        const ExchangeStage exchange{.groups = 12, .base = 3, .stride = stride};
        std::set<Rank> members;
        for (Rank group = 0; group < exchange.groups; ++group) {
            for (Rank position = 0; position < exchange.base; ++position) {
                const Rank member = exchange.member(group, position);
                EXPECT_EQ(exchange.group_of(member), group);
                EXPECT_EQ(exchange.position_of(member), position);
                members.insert(member);
            }
        }
        EXPECT_EQ(members.size(), 36U);
        EXPECT_EQ(*members.rbegin(), 35);
    }
}

TEST(Remainders, EachNumberIsInOneGroup) {
    for (Rank count = 1; count <= 13; ++count) {
        for (Rank groups = 1; groups <= 5; ++groups) {
            for (const bool dealt : {false, true}) {  // round-robin over the groups, if true
                const Remainders remainders{count, groups, dealt};
                std::set<Rank> seen;
                for (Rank group = 0; group < groups; ++group) {
                    EXPECT_LE(remainders.count_in(group), remainders.count_max());
                    EXPECT_GE(remainders.count_in(group), remainders.count_max() - 1);
                    for (Rank place = 0; place < remainders.count_in(group); ++place) {
                        const Rank number = remainders.number(group, place);
                        EXPECT_EQ(remainders.group_of(number), group);
                        EXPECT_EQ(remainders.place_of(number), place);
                        seen.insert(number);
                    }
                }
                EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
                EXPECT_EQ(*seen.rbegin(), count - 1);
            }
        }
    }
}

/// Returns an exchange of groups {1, 2} and {3, 4}. Rank 0, a remainder, sends to the first group.
Stages example() {
    Stages stages = begin_stages({.size = 5});
    stages.carries = true;
    stages.add_numbering(0, {RankRun::adjacent(1, 4)});
    stages.add_numbering(0, {RankRun::adjacent(0, 1)});
    stages.add(ExchangeStage{
        .numbering = 1, .groups = 2, .base = 2, .remainders = 2, .remainders_send = true});
    return stages;
}

TEST(Stages, AnExchangeIsConvertedToValidPrograms) {
    const Stages stages = example();
    EXPECT_EQ(raises_of(stages, stages.stages.front()), 2U * 2 + 2)
        << "two puts in each group, two puts by rank 0";
    EXPECT_EQ(to_text(program_of(stages, 0)),
              "ranks 5\nslots 3\nslot-units 1\nscratch 0\n\nrank 0\n"
              "  put to 1 slot 2 from input[0+1] shared\n"
              "  put to 2 slot 2 from input[0+1] shared\n"
              "  copy output[0+1] = input[0+1]\n");
    std::vector<Program> programs;
    for (Rank rank = 0; rank < 5; ++rank) programs.push_back(program_of(stages, rank));
    EXPECT_EQ(programs[1].steps[0].peer, 2);
    EXPECT_EQ(programs[1].steps.back().operands, 3U) << "inputs of ranks 0 to 2";
    const Contract contract{
        .collective = "groups", .expected = [](const Program& program) {
            const Rank rank = program.rank;
            const Rank first = rank < 3 ? 0 : 3;
            const Rank last = rank == 0 ? 0 : rank < 3 ? 2 : 4;
            return std::vector<Expectation>{{.unit = 0, .first_rank = first, .last_rank = last}};
        }};
    const Verdict verdict = verify({.programs = programs, .contract = &contract});
    EXPECT_TRUE(verdict.valid) << verdict.error;
    EXPECT_TRUE(verdict.ordered);
    EXPECT_EQ(verdict.messages, 6U);
}

TEST(Stages, ShiftsSignalLaterRanksAndWaitForEarlierRanks) {
    Stages stages = begin_stages({.size = 7});
    stages.add(ShiftStage{.reach = 2, .radix = 3});
    EXPECT_EQ(stages.header.slots, 3U);
    EXPECT_EQ(raises_of(stages, stages.stages.front()), 14U);
    // Signals the ranks 2 and 4 ahead, and waits for the ranks 2 and 4 behind, modulo 7.
    const Program program = program_of(stages, 5);
    ASSERT_EQ(program.steps.size(), 4U);
    EXPECT_EQ(program.steps[0].peer, 0);
    EXPECT_EQ(program.steps[1].peer, 2);
    EXPECT_EQ(program.steps[2].peer, 3);
    EXPECT_EQ(program.steps[3].peer, 1);
}

}  // namespace
}  // namespace weft::plan
