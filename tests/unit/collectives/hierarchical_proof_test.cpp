// SPDX-License-Identifier: BSD-3-Clause
// Goal: collectives composed of collectives of a node and of nodes are right, however ranks lie on nodes.
// Method: the verifier, over even and uneven layouts, nodes in pieces, roots, parts and pieces of the vector;
// counts of what crosses the network; what must be refused.
#include <algorithm>

#include "tests/unit/collectives/node_proof.hpp"

namespace weft::collectives {
namespace {

constexpr const char* kRooted[] = {"broadcast", "reduce"};

TEST(HierarchicalProof, EveryEvenLayoutIsRight) {
    for (Rank nodes = 1; nodes <= 6; ++nodes) {
        for (Rank each = 1; each <= 6; ++each) {
            const plan::Layout layout(nodes * each, each);
            EXPECT_TRUE(proves("barrier", "hierarchical", layout).synchronizing);
            const auto verdict =
                proves("allreduce", "hierarchical", layout, {.elements = 3, .ordered = true});
            EXPECT_TRUE(verdict.ordered && verdict.bit_identical && verdict.synchronizing);
            for (const char* collective : kRooted) {
                for (Rank root = 0; root < layout.size(); root += 1 + layout.size() / 7)
                    EXPECT_TRUE(proves(collective, "hierarchical", layout,
                                       {.root = root, .elements = 3, .ordered = true})
                                    .ordered);
            }
        }
    }
}

TEST(HierarchicalProof, UnevenLayoutsAndNodesInPiecesAreRight) {
    for (const plan::Layout& layout : uneven_layouts()) {
        proves("barrier", "hierarchical", layout);
        for (const bool ordered : {false, true}) {
            if (ordered && !layout.contiguous()) continue;
            EXPECT_EQ(
                proves("allreduce", "hierarchical", layout, {.elements = 6, .ordered = ordered})
                    .ordered,
                layout.contiguous());
            for (const char* collective : kRooted) {
                for (Rank root = 0; root < layout.size(); ++root)
                    proves(collective, "hierarchical", layout,
                           {.root = root, .elements = 6, .ordered = ordered});
            }
        }
    }
}

TEST(HierarchicalProof, EveryAlgorithmMayBeAPart) {
    const std::vector<plan::Layout> layouts{
        plan::Layout(8, 2),  plan::Layout(9, 3),  plan::Layout(7, 3), plan::Layout(12, 4),
        plan::Layout(10, 2), plan::Layout(16, 2), plan::Layout(18, 2)};
    std::map<std::string, int> proved;
    for (const char* collective : {"barrier", "broadcast", "reduce", "allreduce"}) {
        const bool rooted = is_rooted(collective);
        const std::string_view node = rooted ? collective : "reduce";
        const auto visit = [&](std::string_view key, const std::string& inner) {
            for (const plan::Layout& layout : layouts) {
                for (const std::uint32_t segments : {1U, 3U}) {
                    const bool barrier = std::string_view(collective) == "barrier";
                    if (barrier && segments > 1) continue;
                    const GenerateRequest request{.size = layout.size(),
                                                  .root = rooted ? 4 : plan::kNoRank,
                                                  .segments = segments,
                                                  .elements = barrier ? 0U : 40U,
                                                  .layout = layout};
                    const auto spec = *parse_spec(fmt::format("hierarchical:{}=({})", key, inner));
                    // Some parts need a power of two, or pieces of their own.
                    if (!generate(collective, spec, request).ok()) continue;
                    proves(collective, print(spec), layout, request);
                    ++proved[fmt::format("{} {}", key, inner)];
                }
            }
        };
        for (const std::string& inner : specs_to_try(node)) visit("node", inner);
        for (const std::string& inner : specs_to_try(collective)) visit("net", inner);
        if (!rooted)
            for (const std::string& inner : specs_to_try("broadcast")) visit("down", inner);
        for (const std::string& inner : specs_to_try(collective)) {
            if (inner == "multiplying") continue;  // needs a schedule
            EXPECT_GT(proved[fmt::format("net {}", inner)], 0) << collective << ' ' << inner;
        }
        for (const std::string& inner : specs_to_try(node))
            EXPECT_GT(proved[fmt::format("node {}", inner)], 0) << collective << ' ' << inner;
    }
}

constexpr const char* kScans[] = {"scan", "exscan"};

TEST(HierarchicalProof, ScansOfEveryEvenLayoutAreRight) {
    for (Rank nodes = 1; nodes <= 6; ++nodes) {
        for (Rank each = 1; each <= 6; ++each) {
            const plan::Layout layout(nodes * each, each);
            for (const char* collective : kScans) {
                for (const std::uint32_t segments : {1U, 3U})
                    EXPECT_TRUE(proves(collective, "hierarchical", layout,
                                       {.segments = segments, .elements = 7, .ordered = true})
                                    .ordered);
            }
        }
    }
}

TEST(HierarchicalProof, ScansOfUnevenNodesAreRightAndOfNodesInPiecesRefused) {
    int refused = 0;
    for (const plan::Layout& layout : uneven_layouts()) {
        for (const char* collective : kScans) {
            for (const std::string& spec : specs_to_try(collective)) {
                if (!spec.starts_with("hierarchical")) continue;
                if (layout.contiguous()) {
                    for (const std::uint32_t segments : {1U, 4U})
                        proves(collective, spec, layout, {.segments = segments, .elements = 9});
                    continue;
                }
                ++refused;
                for (Rank rank = 0; rank < layout.size(); ++rank) {
                    const auto program = generate(
                        collective, *parse_spec(spec),
                        {.rank = rank, .size = layout.size(), .elements = 9, .layout = layout});
                    ASSERT_FALSE(program.ok());
                    EXPECT_EQ(program.failure().text,
                              fmt::format("{} hierarchical needs nodes whose ranks follow each "
                                          "other in the team",
                                          collective));
                }
            }
        }
    }
    EXPECT_GT(refused, 0);
}

TEST(HierarchicalProof, ScansTakeEveryAlgorithmAsAPart) {
    const std::vector<plan::Layout> layouts{plan::Layout(8, 2), plan::Layout(12, 4),
                                            plan::Layout(13, 5), layout_by({1, 4, 1, 3})};
    for (const char* collective : kScans) {
        const auto visit = [&](std::string_view key, const std::string& inner) {
            for (const plan::Layout& layout : layouts)
                for (const std::uint32_t segments : {1U, 3U})
                    proves(collective, fmt::format("hierarchical:{}=({})", key, inner), layout,
                           {.segments = segments, .elements = 40});
        };
        for (const std::string& inner : specs_to_try(collective)) visit("node", inner);
        for (const std::string& inner : specs_to_try("exscan")) visit("net", inner);
        for (const std::string& inner : specs_to_try("broadcast")) visit("down", inner);
    }
}

/// What a scan over nodes is for: a node's ranks send one vector to each node that the net sends to.
TEST(HierarchicalProof, ScansSendOverTheNetworkWhatTheNodesAloneWould) {
    for (Rank nodes = 2; nodes <= 9; ++nodes) {
        const plan::Layout layout(nodes * 4, 4);
        for (const char* collective : kScans) {
            const auto far = far_traffic(
                layout, programs_on(layout, collective, "hierarchical", {.elements = 1}));
            const auto net = prove("exscan", "recursive-doubling", {.size = nodes, .elements = 1});
            EXPECT_EQ(far.rounds, net.rounds) << collective << ' ' << nodes;
            EXPECT_EQ(far.messages, net.messages) << collective << ' ' << nodes;
        }
    }
}

TEST(HierarchicalProof, AlltoallOfEveryEvenLayoutIsRight) {
    std::vector<plan::Layout> layouts{dealt_layout(12, 3), dealt_layout(8, 4)};
    for (Rank nodes = 1; nodes <= 6; ++nodes)
        for (Rank each = 1; each <= 6; ++each) layouts.emplace_back(nodes * each, each);
    for (const plan::Layout& layout : layouts) {
        const auto size = static_cast<std::uint64_t>(layout.size());
        for (const std::string& spec : specs_to_try("alltoall")) {
            if (!spec.starts_with("hierarchical")) continue;
            for (const std::uint32_t segments : {1U, 3U}) {
                const bool long_run = size > 16 && segments > 1;
                if (long_run && spec != "hierarchical") continue;
                EXPECT_TRUE(
                    proves("alltoall", spec, layout, {.segments = segments, .elements = 4 * size})
                        .synchronizing);
            }
        }
    }
}

/// Every rank sends to one rank of each other node, and what it sends is what its node has for the ranks at its place.
TEST(HierarchicalProof, AlltoallSendsOneMessageToEachNode) {
    for (const Rank each : {2, 3, 5}) {
        const plan::Layout layout(4 * each, each);
        const auto far =
            far_traffic(layout, programs_on(layout, "alltoall", "hierarchical",
                                            {.elements = static_cast<std::uint64_t>(4 * each)}));
        EXPECT_EQ(far.messages, static_cast<std::uint64_t>(4 * each * 3));
        for (const std::uint64_t units : far.units)
            EXPECT_EQ(units, static_cast<std::uint64_t>(3 * each));
    }
}

TEST(HierarchicalProof, AlltoallOfUnevenNodesIsRefused) {
    const auto program = generate("alltoall", *parse_spec("hierarchical"),
                                  {.size = 7, .elements = 7, .layout = plan::Layout(7, 3)});
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.failure().text, "alltoall hierarchical needs nodes with as many ranks each");
}

TEST(HierarchicalProof, PiecesOfOnePartArePiecesOfAll) {
    for (const plan::Layout& layout : {plan::Layout(8, 4), plan::Layout(13, 5)}) {
        for (const std::uint32_t segments : {1U, 3U}) {
            for (const char* spec :
                 {"hierarchical:node=(flat:segments=2)", "hierarchical:net=(ring:segments=4)",
                  "hierarchical:net=(ring:segments=2),down=(binomial:segments=2)",
                  "hierarchical:node=(a2,a2),net=(ring:segments=2)",
                  "hierarchical:net=(hierarchical:net=(ring),segments=2),segments=2"}) {
                const GenerateRequest request{
                    .size = layout.size(), .segments = segments, .elements = 480, .layout = layout};
                // The schedule is one of nodes of 4 ranks.
                if (layout.size() == 13 && std::string_view(spec).find("a2") != std::string::npos)
                    continue;
                proves("allreduce", spec, layout, request);
                const auto program = generate("allreduce", *parse_spec(spec), request);
                ASSERT_TRUE(program.ok()) << spec << ": " << program.failure().text;
                EXPECT_EQ(program->segments % (2 * segments), 0U) << spec;
            }
        }
    }
}

/// Blocks of many ranks in many pieces: what one part needs is granted, however much it is.
TEST(HierarchicalProof, LongCallsOfManyRanksAreCutAsFinelyAsTheyNeed) {
    const plan::Layout layout(512, 16);
    for (const char* collective : {"allgather", "gather", "scatter", "alltoall"}) {
        const auto program = generate(
            collective, *parse_spec("hierarchical"),
            {.size = 512, .root = 0, .segments = 5000, .elements = 1U << 30U, .layout = layout});
        ASSERT_TRUE(program.ok()) << collective << ": " << program.failure().text;
        EXPECT_EQ(program->units, 512U * 5000U) << collective;
    }
}

TEST(HierarchicalProof, BlocksOfNodesGoTogether) {
    std::vector<plan::Layout> layouts = uneven_layouts();
    for (Rank nodes = 1; nodes <= 5; ++nodes)
        for (Rank each = 1; each <= 4; ++each) layouts.emplace_back(nodes * each, each);
    int refused = 0;
    int proved = 0;
    for (const char* collective : {"gather", "scatter", "allgather", "reduce_scatter"}) {
        for (const std::string& spec : specs_to_try(collective)) {
            if (!spec.starts_with("hierarchical")) continue;
            for (const plan::Layout& layout : layouts) {
                for (const bool ordered : {false, true}) {
                    const auto size = static_cast<std::uint64_t>(layout.size());
                    const GenerateRequest request{
                        .size = layout.size(),
                        .root = is_rooted(collective) ? layout.size() / 2 : plan::kNoRank,
                        .elements = size * (ordered ? 6 : 1),
                        .ordered = ordered && layout.contiguous(),
                        .layout = layout};
                    const bool fits = generate(collective, *parse_spec(spec), request).ok();
                    ++(fits ? proved : refused);
                    if (fits) proves(collective, spec, layout, request);
                }
            }
        }
    }
    EXPECT_GT(proved, 10 * refused);
}

TEST(HierarchicalProof, PartsThatCutTheVectorDifferentlyGoTogether) {
    for (const plan::Layout& layout : uneven_layouts()) {
        for (const std::uint32_t segments : {1U, 2U}) {
            proves("allreduce", "hierarchical:node=(ring),net=(ring),down=(scatter-allgather)",
                   layout, {.segments = segments, .elements = 240});
            proves("allreduce", "hierarchical:node=(recursive-doubling),net=(double-tree)", layout,
                   {.segments = segments, .elements = 240});
        }
    }
}

TEST(HierarchicalProof, SchedulesAndHierarchiesAreParts) {
    proves("allreduce", "hierarchical:node=(a4),net=(m1g2a3,n1g3a2)", plan::Layout(28, 4),
           {.elements = 5, .ordered = true});
    proves("allreduce", "hierarchical:node=(a2,a3),net=(hierarchical:net=(ring))",
           plan::Layout(18, 6), {.elements = 9});
    const auto wrong = generate("allreduce", *parse_spec("hierarchical:node=(a3)"),
                                {.size = 8, .elements = 1, .layout = plan::Layout(8, 4)});
    ASSERT_FALSE(wrong.ok());
    EXPECT_TRUE(wrong.failure().text.starts_with("character 21:")) << wrong.failure().text;
}

TEST(HierarchicalProof, OneRankOfANodeTalksToOthers) {
    for (const plan::Layout& layout : {plan::Layout(24, 6), plan::Layout(13, 4)}) {
        for (const std::string_view collective : {"barrier", "broadcast", "reduce", "allreduce"}) {
            const auto programs =
                programs_on(layout, collective, "hierarchical", {.root = 7, .elements = 1});
            std::set<std::pair<Rank, Rank>> talks;
            for (const plan::Program& program : programs)
                for (const plan::Step& step : program.steps)
                    if (step.peer != plan::kNoRank && !layout.near(step.peer, program.rank))
                        talks.insert({layout.node_of(program.rank), program.rank});
            EXPECT_EQ(talks.size(), static_cast<std::size_t>(layout.nodes())) << collective;
        }
    }
}

/// Over the network the parts on the nodes cost nothing.
TEST(HierarchicalProof, RoundsOverTheNetworkAreThoseOfTheNet) {
    for (Rank nodes = 2; nodes <= 17; ++nodes) {
        const plan::Layout layout(nodes * 3, 3);
        const auto far = [&](const char* collective, const char* spec) {
            return far_rounds(layout,
                              programs_on(layout, collective, spec, {.root = 0, .elements = 1}));
        };
        for (const char* net : {"recursive-doubling", "ring", "reduce-broadcast"})
            EXPECT_EQ(far("allreduce", fmt::format("hierarchical:net=({})", net).c_str()),
                      prove("allreduce", net, {.size = nodes, .elements = 1}).rounds);
        EXPECT_EQ(far("barrier", "hierarchical"),
                  prove("barrier", "dissemination", {.size = nodes}).rounds);
        EXPECT_EQ(far("broadcast", "hierarchical:net=(flat)"), 1U);
    }
}

TEST(HierarchicalProof, LoopsOfThePartsBecomeOne) {
    const plan::Layout layout(9, 3);
    for (const plan::Program& program :
         programs_on(layout, "allreduce", "hierarchical:net=(ring),segments=4", {.elements = 60})) {
        const auto loops =
            std::ranges::count(program.steps, plan::StepKind::loop, &plan::Step::kind);
        EXPECT_EQ(loops, 1);
        EXPECT_EQ(program.segments, 4U);
        EXPECT_EQ(program.steps.front().signal + 1, program.steps.size());
    }
}

TEST(HierarchicalProof, WhatCannotBeIsRefusedWithTheReason) {
    const plan::Layout dealt = dealt_layout(8, 2);
    const GenerateRequest request{.size = 8, .elements = 1, .ordered = true, .layout = dealt};
    struct Case {
        const char* spec;
        GenerateRequest request;
        const char* message;
    };
    GenerateRequest other = request;
    other.size = 7;
    GenerateRequest free = request;
    free.ordered = false;
    for (const Case& c :
         {Case{"hierarchical", request,
               "allreduce hierarchical combines the ranks of a node first"},
          Case{"hierarchical", other, "layout: it is one of 8 ranks, there are 7"},
          Case{"hierarchical:net=(bring)", free,
               "character 19: allreduce has no algorithm 'bring'"},
          Case{"hierarchical:node=(flat:segments=2),net=(ring:segments=3)", free,
               "allreduce ring:segments=3 has 3 segments, another part has 2: all go through"},
          Case{"hierarchical:node=up", free, "character 19: reduce has no algorithm 'up'"},
          Case{"hierarchical:nodes=(a2)", free,
               "character 14: hierarchical has no parameter 'nodes'; it has node, net, down, "
               "segments"}}) {
        const auto program = generate("allreduce", *parse_spec(c.spec), c.request);
        ASSERT_FALSE(program.ok()) << c.spec;
        EXPECT_TRUE(program.failure().text.starts_with(c.message)) << program.failure().text;
    }
}

}  // namespace
}  // namespace weft::collectives
