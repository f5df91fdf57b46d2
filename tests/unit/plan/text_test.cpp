// SPDX-License-Identifier: BSD-3-Clause
// Goal: programs that are printed and parsed again are equal, and mistakes in a file are reported
// with their line and column. Method: tests print and parse built programs with every form of step,
// and files with one mistake each.
#include "tools/text/text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/canonical.hpp"
#include "plan/schedule/step.hpp"
#include "tests/support/sample_programs.hpp"

namespace weft::plan {
namespace {

void expect_round_trip(const std::vector<Program>& programs) {
    const std::string text = to_text(programs);
    const auto back = parse_programs(text);
    ASSERT_TRUE(back.ok()) << back.failure().text << "\n" << text;
    ASSERT_EQ(back->size(), programs.size());
    for (std::size_t i = 0; i < programs.size(); ++i) {
        EXPECT_EQ((*back)[i], canonical(programs[i])) << text;
        EXPECT_EQ(to_text((*back)[i]), to_text(programs[i]));
    }
}

TEST(Text, BuiltProgramsAreReadBackEqual) {
    for (const auto& programs :
         {test::recursive_doubling(8), test::all_to_all_reduce(5), test::ring(4),
          test::chain_broadcast(4, 6, 2), test::tree_allreduce(7, 3, 2),
          test::dissemination_barrier(6), test::recursive_doubling(1)}) {
        expect_round_trip(programs);
        for (const Program& program : programs) {
            const auto single = parse_programs(to_text(program));
            ASSERT_TRUE(single.ok());
            EXPECT_EQ(single->front(), program);
        }
    }
}

TEST(Text, EveryFormOfStepAndBlockIsReadBackEqual) {
    Program head;
    head.collective = "all kinds";
    head.algorithm = "by-hand:k=2,net=(a4)";
    head.rank = 1;
    head.size = 4;
    head.root = 2;
    head.units = 12;
    head.segments = 3;
    head.depth = 2;
    head.unit_counts = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    Builder build(std::move(head));
    build.expose(2, 4, output(3, 6), kWritten);
    build.expose(3, 4, scratch(1, 0, 2));
    build.wait(0, 5, kFromPublished);
    build.copy(scratch(1, 2, 2), Block{.buffer = Buffer::published,
                                       .peer = 0,
                                       .index = 5,
                                       .origin = 1,
                                       .first = 2,
                                       .count = 2});
    build.publish(6);
    build.publish(7, input(1));
    build.begin_loop();
    build.wait(3, 1, kShared, 2);
    build.signal(3, 2, kShared, 2);
    build.put(0, 3, per_segment(input(0, 2), 2), kShared);
    const Block parts[] = {input(1), Block{.first = 4, .count = 3, .stride = 2}};
    build.put(2, 4, parts);
    build.end_loop();
    build.begin_lane();
    build.put_mapped(2, 8, mapped(2, 4, 0, 2), scratch(0, 0, 2));
    build.flush();
    const Block targets[] = {output(3, 2), mapped(2, 4, 0, 2), scratch(0, 4, 2)};
    const Block operands[] = {input(3, 2), slot(1, 3, 2)};
    build.reduce(targets, operands);
    const Block two[] = {output(0), output(2)};
    const Block four[] = {slot(1, 0), slot(1, 2), scratch(0, 0), scratch(0, 2)};
    build.copy(two, std::span(four).first(2));
    Program program = std::move(build).finish();
    // The builder has no call for reductions with lists of blocks as operands (two lists of two
    // blocks), or as targets.
    const BlockList list_of_two = intern_blocks(program.blocks, two);
    const BlockList list_of_four = intern_blocks(program.blocks, four);
    program.steps.push_back(
        {.kind = StepKind::reduce, .operands = 2, .target = list_of_two, .source = list_of_four});
    program.steps.push_back(
        {.kind = StepKind::reduce, .operands = 1, .target = list_of_four, .source = list_of_two});
    program.lanes.back().count += 2;
    expect_round_trip({canonical(program)});
}

TEST(Text, PairwiseProgramsAreReadBackEqual) {
    Program head;
    head.size = 2;
    head.units = 4;
    head.segments = 4;
    head.depth = 2;
    head.pairwise = true;
    head.unit_counts = {9, 2};
    head.unit_elements = 5;
    Builder build(std::move(head));
    build.begin_loop(7);
    build.put(1, 0, per_segment(input(0)));
    build.end_loop();
    expect_round_trip({canonical(std::move(build).finish())});
}

TEST(Text, StepsThatTakeTimeAreReadBackEqual) {
    const auto programs = parse_programs("rank 0\n sleep 700 ns\n compute 4294967295 ns\n");
    ASSERT_TRUE(programs.ok()) << programs.failure().text;
    EXPECT_EQ(programs->front().steps[0], (Step{.kind = StepKind::sleep, .signal = 700}));
    EXPECT_EQ(programs->front().steps[1], (Step{.kind = StepKind::compute, .signal = ~0U}));
    expect_round_trip(*programs);
    EXPECT_FALSE(parse_programs("rank 0\n sleep 4294967296 ns\n").ok());
    EXPECT_FALSE(parse_programs("rank 0\n sleep 7\n").ok());
}

TEST(Text, LanesMayBeEmptyAndHeadersMayDiffer) {
    std::vector<Program> programs = test::dissemination_barrier(3);
    programs[1].lanes.push_back({static_cast<std::uint32_t>(programs[1].steps.size()), 0});
    programs[2].slots = 9;
    programs[2].synchronizing = false;
    programs[2].root = 1;
    programs[2].unit_counts = {5};
    Program empty = programs[0];
    empty.steps.clear();
    empty.lanes = {{0, 0}};
    programs.push_back(empty);
    expect_round_trip(programs);
}

TEST(Text, HandwrittenProgramsMayOmitDefaults) {
    const auto programs = test::programs_of(R"(
# Two ranks add up.
units 3
rank 0
  put to 1 slot 0 from input
  wait from 1 slot 0
  reduce output = input, slot 0
rank 1
  put to 0 slot 0 from input      # all units
  wait from 0 slot 0
  reduce output = slot 0, input
  copy scratch 1[2] = output[2]
)");
    ASSERT_EQ(programs.size(), 2U);
    EXPECT_EQ(programs[0].size, 2);
    EXPECT_EQ(programs[0].slots, 1U);
    EXPECT_EQ(programs[0].slot_units, 3U);
    EXPECT_EQ(programs[0].scratch, 0U);
    EXPECT_EQ(programs[1].scratch, 2U);
    EXPECT_EQ(programs[1].blocks[0], input(0, 3));
    EXPECT_EQ(to_text(programs[0], programs[0].steps[2]),
              "reduce output[0+3] = input[0+3], slot 0[0+3]");
}

TEST(Text, OldKeywordsAreAccepted) {
    const auto programs =
        test::programs_of("slot-rooms 2\nrank 0\n put to 0 slot 0 from input\n local");
    EXPECT_EQ(programs[0].slot_capacity, std::vector<std::uint32_t>{2});
    EXPECT_EQ(programs[0].steps.back().kind, StepKind::flush);
}

TEST(Text, StepsHaveTheDocumentedText) {
    Program program = test::all_to_all_reduce(4)[3];
    EXPECT_EQ(to_text(program, program.steps[0]), "put to 0 slot 3 from input[0+1] shared");
    program = test::chain_broadcast(3, 4, 2)[1];
    EXPECT_EQ(to_text(program, program.steps[3]), "signal to 0 slot 1 lag 2");
    EXPECT_EQ(to_text(program, program.steps[2]),
              "copy output[0+1 advance 1] = slot 0[0+1 advance 1]");
}

struct Mistake {
    const char* text;
    const char* message;
};

class TextMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(TextMistakes, EachMistakeIsReportedAtItsPosition) {
    const auto parsed = parse_programs(GetParam().text);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.failure().text, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, TextMistakes,
    testing::Values(
        Mistake{"", "line 2, column 1: expected a line 'rank R', found the end of the line"},
        Mistake{"put to 1 slot 0 from input",
                "line 1, column 1: expected a header line or 'rank R', found 'put'"},
        Mistake{"rank x", "line 1, column 6: expected the number of a rank, found 'x'"},
        Mistake{"rank 0\n  put at 1 slot 0 from input",
                "line 2, column 7: expected 'to', found 'at'"},
        Mistake{"rank 0\n  put to 1 slot 0 from inputs",
                "line 2, column 24: expected a block (input, output, scratch, slot, published or "
                "mapped), found 'inputs'"},
        Mistake{"rank 0\n  put to 1 slot 0 from",
                "line 2, column 23: expected a block (input, output, scratch, slot, published or "
                "mapped), found the end of the line"},
        Mistake{"rank 0\n  copy output[0+1 = input",
                "line 2, column 19: expected '+', 'stride', 'advance' or ']', found '='"},
        Mistake{"rank 0\n  wait from 1 slot 0 lag",
                "line 2, column 25: expected a number of segments, found the end of the line"},
        Mistake{"rank 0\n  wait from 1 slot 0 lag 70000",
                "line 2, column 26: expected a number of segments that fits its field, found "
                "'70000'"},
        Mistake{"rank 0\n  flushed",
                "line 2, column 3: expected put, signal, expose, publish, wait, flush, reduce, "
                "copy, sleep, compute, loop, end, lane or rank, found 'flushed'"},
        Mistake{"rank 0\n  loop\n  loop",
                "line 3, column 3: expected a step or 'end' (loops do not nest), found 'loop'"},
        Mistake{"rank 0\n  loop\n  flush\nrank 1",
                "line 4, column 1: expected 'end' of the open loop, found 'rank'"},
        Mistake{"rank 0\n  end",
                "line 2, column 3: expected a step ('end' closes a loop, and none is open), found "
                "'end'"},
        Mistake{"rank 0\n  flush\n  units 3",
                "line 3, column 3: expected a step (header lines must precede the steps of a "
                "rank), found 'units'"},
        Mistake{"rank 0\n  flush 3",
                "line 2, column 9: expected 'for writing', 'shared', 'published', 'lag' or the end "
                "of the line, found '3'"},
        Mistake{"rank 0\n  reduce output = {input[0], input[1]}, slot 0",
                "line 2, column 47: expected the same number of blocks in each operand, found the "
                "end of the line"}));

TEST(Text, ChangedTextGivesProgramsOrAFailureWithItsLine) {
    const std::string good = to_text(test::tree_allreduce(5, 2, 2));
    std::mt19937 random(7);
    for (int i = 0; i < 3000; ++i) {
        std::string bad = good;
        for (int changes = 0; changes < 3; ++changes) {
            const std::size_t at = random() % bad.size();
            switch (random() % 3) {
                case 0:
                    bad[at] = static_cast<char>(' ' + random() % 95);
                    break;
                case 1:
                    bad.erase(at, random() % 7);
                    break;
                default:
                    bad.insert(at, 1, "{}[]=,\n#"[random() % 8]);
                    break;
            }
        }
        const auto parsed = parse_programs(bad);
        if (parsed.ok()) {
            expect_round_trip(*parsed);
        } else {
            EXPECT_EQ(parsed.failure().text.rfind("line ", 0), 0U) << parsed.failure().text;
        }
    }
}

}  // namespace
}  // namespace weft::plan
