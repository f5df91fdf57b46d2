// SPDX-License-Identifier: BSD-3-Clause
// Goal: multi-object collectives, in which every rank of a node communicates over the network, are
// right for all numbers of nodes and ranks, with the network's rounds and bytes of their paper.
// Method: the verifier; counts of network messages.
#include <algorithm>
#include <map>

#include "tests/model/collectives/figures.hpp"
#include "tests/model/collectives/node_proof.hpp"
#include "tests/support/full_mode.hpp"

namespace weft::collectives {
namespace {

/// Proves an allreduce on `nodes` nodes of `each` ranks, and checks its network traffic.
void expect_small(Rank nodes, Rank each, const std::string& spec, Rank radix) {
    const plan::Layout layout(nodes * each, each);
    const auto programs = programs_on(layout, "allreduce", spec, {.elements = 1});
    const auto verdict = prove("allreduce", programs, 1);
    EXPECT_TRUE(verdict.valid) << spec << ' ' << nodes << " nodes of " << each << ": "
                               << verdict.error;
    EXPECT_TRUE(verdict.synchronizing);
    EXPECT_EQ(verdict.ordered && verdict.bit_identical, nodes <= radix) << nodes << ' ' << each;
    const NetworkTraffic traffic = network_traffic(layout, programs);
    EXPECT_EQ(traffic.rounds, rounds_in_base(radix, nodes)) << nodes << " nodes of " << each;
    // A port sends one buffer in each round.
    EXPECT_LE(*std::ranges::max_element(traffic.units), rounds_in_base(radix, nodes));
}

TEST(MultiObjectSmall, EveryNumberOfNodesUpTo130IsRight) {
    for (const Rank each : {1, 2, 3, 5})
        for (Rank nodes = 1; nodes <= 130; nodes += test::full_mode() || nodes < 50 ? 1 : each)
            expect_small(nodes, each, "multi-object-small", each + 1);
}

TEST(MultiObjectSmall, NodesOfEighteenRanksAreRight) {
    const Rank step = test::full_mode() ? 1 : 27;
    for (Rank nodes = 1; nodes <= 130; nodes += nodes < 21 ? 1 : step)
        expect_small(nodes, 18, "multi-object-small", 19);
}

/// Also proves the numbers of nodes that the two tests above skip in the ordinary run.
TEST(MultiObjectSmall, EveryNumberOfNodesIsRightByFingerprints) {
    for (const Rank each : {1, 2, 3, 5, 18}) {
        for (Rank nodes = 1; nodes <= 130; ++nodes) {
            const plan::Layout layout(nodes * each, each);
            const auto verdict = prove_by_fingerprints(
                "allreduce", *parse_spec("multi-object-small"),
                {.size = layout.size(), .elements = 1, .layout = layout}, nodes % 2 == 0);
            EXPECT_TRUE(verdict.valid) << nodes << " nodes of " << each << ": " << verdict.error;
        }
    }
}

/// The smallest numbers of nodes for which the paper's algorithm loses remainders.
TEST(MultiObjectSmall, RemaindersOfSeveralDigitsAreRight) {
    for (Rank each = 1; each <= 5; ++each) {
        const Rank radix = each + 1;
        expect_small(radix * radix + radix + 1, each, "multi-object-small", radix);
    }
    const plan::Layout layout(381 * 18, 18);  // 19 * 19 + 19 + 1
    const auto verdict =
        prove_by_fingerprints("allreduce", *parse_spec("multi-object-small"),
                              {.size = layout.size(), .elements = 1, .layout = layout});
    EXPECT_TRUE(verdict.valid) << verdict.error;
}

TEST(MultiObjectSmall, AnyRadixUpToThePortsIsRight) {
    for (Rank radix = 2; radix <= 6; ++radix)
        for (Rank nodes = 1; nodes <= 40; ++nodes)
            expect_small(nodes, 5, fmt::format("multi-object-small:radix={}", radix), radix);
    for (const char* spec : {"multi-object-small:radix=1", "multi-object-small:radix=5"})
        EXPECT_FALSE(generate("allreduce", *parse_spec(spec),
                              {.size = 9, .elements = 1, .layout = plan::Layout(9, 3)})
                         .ok());
}

/// Each rank but the root of a node's tree puts one sum, to the rank without its lowest bit.
TEST(MultiObjectSmall, ABinomialTreeCombinesTheVectorsOfANode) {
    for (Rank each = 1; each <= 18; ++each) {
        const plan::Layout layout(2 * each, each);
        for (const plan::Program& program : programs_on(
                 layout, "allreduce", "multi-object-small:node=binomial", {.elements = 1})) {
            const Rank local = program.rank % each;
            std::vector<Rank> parents;
            for (const plan::Step& step : program.steps)
                if (step.kind == plan::StepKind::put && (step.flags & plan::kShared) == 0 &&
                    layout.near(step.peer, program.rank))
                    parents.push_back(step.peer % each);
            EXPECT_EQ(parents, local == 0 ? std::vector<Rank>{} : std::vector{local & (local - 1)});
        }
        const auto programs =
            programs_on(layout, "allreduce", "multi-object-small:node=binomial", {.elements = 1});
        const auto reduces =
            std::ranges::count(programs[0].steps, plan::StepKind::reduce, &plan::Step::kind);
        EXPECT_EQ(static_cast<Count>(reduces), log2_ceil(static_cast<Count>(each)) + 1);
    }
    for (const plan::Layout& layout : irregular_layouts())
        for (const char* more : {"", ",segments=3", ",near=mapped", ",radix=2"})
            proves("allreduce", fmt::format("multi-object-small:node=binomial{}", more), layout,
                   {.elements = 7});
}

/// On a node, the root of a flat broadcast copies a short vector to a published cell once and does
/// not wait. Each other rank copies it from there.
TEST(MultiObjectSmall, AShortBroadcastOnANodeIsPublishedOnce) {
    for (Rank size = 2; size <= 18; ++size) {
        const plan::Layout layout(size, size);
        const Rank root = size / 2;
        const auto programs = localized(
            layout, programs_on(layout, "broadcast", "flat", {.root = root, .elements = 1}));
        for (const plan::Program& program : programs) {
            std::map<plan::StepKind, int> steps;
            for (const plan::Step& step : program.steps) ++steps[step.kind];
            steps.erase(plan::StepKind::flush);
            if (program.rank == root) {
                EXPECT_EQ(steps[plan::StepKind::publish], 1) << size;
                EXPECT_EQ(steps[plan::StepKind::wait], 0) << size;
                EXPECT_EQ(steps[plan::StepKind::put], 0) << size;
            } else {
                EXPECT_EQ(steps, (std::map<plan::StepKind, int>{{plan::StepKind::wait, 1},
                                                                {plan::StepKind::copy, 1}}))
                    << size;
            }
        }
    }
}

TEST(MultiObjectSmall, TheBarrierHasTheSameRounds) {
    std::vector<plan::Layout> layouts = irregular_layouts();
    for (Rank nodes = 1; nodes <= 9; ++nodes)
        for (Rank each = 1; each <= 4; ++each) layouts.emplace_back(nodes * each, each);
    for (const plan::Layout& layout : layouts) {
        for (const char* spec : {"multi-object", "multi-object:radix=2"}) {
            const auto verdict = proves("barrier", spec, layout);
            EXPECT_TRUE(verdict.synchronizing);
            EXPECT_EQ(verdict.messages, 0U);
        }
        EXPECT_EQ(network_rounds(layout, programs_on(layout, "barrier", "multi-object", {})),
                  rounds_in_base(layout.least() + 1, layout.nodes()));
    }
}

TEST(MultiObjectSmall, RankOrderIsKeptInOneRoundOrRefused) {
    const auto spec = *parse_spec("multi-object-small");
    EXPECT_TRUE(proves("allreduce", "multi-object-small", plan::Layout(16, 4),
                       {.elements = 1, .ordered = true})
                    .ordered);
    for (const plan::Layout& layout : {plan::Layout(18, 3), dealt_layout(8, 2)})
        EXPECT_FALSE(
            generate("allreduce", spec,
                     {.size = layout.size(), .elements = 1, .ordered = true, .layout = layout})
                .ok());
}

}  // namespace
}  // namespace weft::collectives
