// SPDX-License-Identifier: BSD-3-Clause
// Goal: hierarchical collectives are composed of parts: node and down within nodes, net between
// nodes. Every algorithm can be a part, with any number of segments. Only net uses the network.
// Method: the verifier; counts of network messages; expected refusals. registry_proof_test.cpp
// proves results on nodes of every shape.
#include <algorithm>

#include "collectives/notation/spec.hpp"
#include "collectives/transfer.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/node_proof.hpp"

namespace weft::collectives {
namespace {

/// Proves a hierarchy whose part `key` is `inner`, on nodes of several shapes. Returns the number
/// of proved calls.
int prove_with(std::string_view collective, std::string_view key, const std::string& inner) {
    int proved = 0;
    std::vector<plan::Layout> layouts = scattered_layouts();
    for (const auto& [size, each] :
         {std::pair{8, 2}, {9, 3}, {7, 3}, {12, 4}, {10, 2}, {16, 2}, {18, 2}})
        layouts.emplace_back(size, each);
    layouts.push_back(layout_by({1, 4, 1, 3}));
    for (const plan::Layout& layout : layouts) {
        for (const std::uint32_t segments : {1U, 3U}) {
            const bool has_data = find_collective(collective)->has_data();
            const GenerateRequest request{
                .size = layout.size(),
                .root = is_rooted(collective) ? 4 : plan::kNoRank,
                .segments = has_data ? segments : 1,
                .elements = has_data ? contract(collective).vector_elements(layout.size(), 5) : 0,
                .layout = layout};
            const auto spec = *parse_spec(fmt::format("hierarchical:{}=({})", key, inner));
            // Skips calls that the part refuses, such as numbers of ranks that are no power of two.
            if (!generate(collective, spec, request).ok()) continue;
            proves(collective, print(spec), layout, request);
            ++proved;
        }
    }
    return proved;
}

/// Expects that a part that uses peers' memory is refused: leaders share no memory, and a block of
/// an alltoall's part consists of several separate blocks.
void expect_refused_part(const char* collective, const char* key, const std::string& inner,
                         const char* reason) {
    const auto spec = parse_spec(fmt::format("hierarchical:{}=({})", key, inner));
    const auto program = generate(collective, *spec,
                                  {.size = 8,
                                   .root = is_rooted(collective) ? 0 : plan::kNoRank,
                                   .elements = 8,
                                   .layout = plan::Layout(8, 4)});
    ASSERT_FALSE(program.ok()) << collective << ' ' << key << ' ' << inner;
    EXPECT_TRUE(program.failure().text.find(reason) != std::string::npos) << program.failure().text;
}

TEST(HierarchicalProof, EveryAlgorithmCanBeAPart) {
    struct Parts {
        const char* collective;
        const char* node;
        const char* net;
        const char* down;  ///< nullptr: no such part
    };
    for (const Parts& parts : {Parts{"barrier", "reduce", "barrier", "broadcast"},
                               Parts{"broadcast", "broadcast", "broadcast", nullptr},
                               Parts{"reduce", "reduce", "reduce", nullptr},
                               Parts{"allreduce", "reduce", "allreduce", "broadcast"},
                               Parts{"gather", "gather", "gather", nullptr},
                               Parts{"scatter", "scatter", "scatter", nullptr},
                               Parts{"allgather", "gather", "allgather", "broadcast"},
                               Parts{"reduce_scatter", "reduce", "reduce_scatter", "scatter"},
                               Parts{"alltoall", "alltoall", "alltoall", nullptr},
                               Parts{"scan", "scan", "exscan", "broadcast"},
                               Parts{"exscan", "exscan", "exscan", "broadcast"}}) {
        for (const auto& [key, part] : {std::pair{"node", parts.node}, std::pair{"net", parts.net},
                                        std::pair{"down", parts.down}}) {
            if (part == nullptr) continue;
            for (const std::string& inner : specs_to_try(part)) {
                if (inner == "multiplying") continue;  // needs a schedule
                const auto spec = parse_spec(inner);
                if ((*find_algorithm(part, *spec))->properties_of(*spec).direct &&
                    (key == std::string_view("net") || part == std::string_view("alltoall"))) {
                    expect_refused_part(parts.collective, key, inner,
                                        key == std::string_view("net")
                                            ? "accesses buffers of other nodes"
                                            : "represents several");
                    continue;
                }
                EXPECT_GT(prove_with(parts.collective, key, inner), 0)
                    << parts.collective << ' ' << key << ' ' << inner;
            }
        }
    }
}

constexpr const char* kScans[] = {"scan", "exscan"};

TEST(HierarchicalProof, ScansHaveTheNetworkTrafficOfAScanOverNodes) {
    for (Rank nodes = 2; nodes <= 9; ++nodes) {
        const plan::Layout layout(nodes * 4, 4);
        for (const char* collective : kScans) {
            const auto traffic = network_traffic(
                layout, programs_on(layout, collective, "hierarchical", {.elements = 1}));
            const auto net = prove("exscan", "recursive-doubling", {.size = nodes, .elements = 1});
            EXPECT_EQ(traffic.rounds, net.rounds) << collective << ' ' << nodes;
            EXPECT_EQ(traffic.messages, net.messages) << collective << ' ' << nodes;
        }
    }
}

/// Every rank sends one rank of each other node the data that all ranks of the sender's node have
/// for the receiver.
TEST(HierarchicalProof, AlltoallSendsOneMessageToEachNode) {
    for (const Rank each : {2, 3, 5}) {
        const plan::Layout layout(4 * each, each);
        const auto traffic = network_traffic(
            layout, programs_on(layout, "alltoall", "hierarchical",
                                {.elements = static_cast<std::uint64_t>(4 * each)}));
        EXPECT_EQ(traffic.messages, static_cast<std::uint64_t>(4 * each * 3));
        for (const std::uint64_t units : traffic.units)
            EXPECT_EQ(units, static_cast<std::uint64_t>(3 * each));
    }
}

TEST(HierarchicalProof, BlocksOfAllNodesAreOneStridedBlock) {
    // The ranks with one local number, on 128 nodes, are one strided block instead of 128 blocks.
    const auto program = generate("alltoall", *parse_spec("hierarchical:node=(bruck),net=(bruck)"),
                                  {.size = 2304, .elements = 2304, .layout = {2304, 18}});
    ASSERT_TRUE(program.ok());
    EXPECT_LT(program->blocks.size(), 1000);
}

TEST(HierarchicalProof, SegmentsOfOnePartDivideAllParts) {
    for (const plan::Layout& layout : {plan::Layout(8, 4), plan::Layout(13, 5)}) {
        for (const std::uint32_t segments : {1U, 3U}) {
            for (const char* spec :
                 {"hierarchical:node=(flat:segments=2)", "hierarchical:net=(ring:segments=4)",
                  "hierarchical:net=(ring:segments=2),down=(binomial:segments=2)",
                  "hierarchical:node=(a2,a2),net=(ring:segments=2)",
                  "hierarchical:net=(hierarchical:net=(ring),segments=2),segments=2"}) {
                const GenerateRequest request{
                    .size = layout.size(), .segments = segments, .elements = 480, .layout = layout};
                // The schedule a2,a2 fits nodes of 4 ranks only.
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

TEST(HierarchicalProof, LongCallsOfManyRanksMayHaveManySegments) {
    const plan::Layout layout(512, 16);
    for (const char* collective : {"allgather", "gather", "scatter", "alltoall"}) {
        const auto program = generate(
            collective, *parse_spec("hierarchical"),
            {.size = 512, .root = 0, .segments = 5000, .elements = 1U << 30U, .layout = layout});
        ASSERT_TRUE(program.ok()) << collective << ": " << program.failure().text;
        EXPECT_EQ(program->units, 512U * 5000U) << collective;
    }
}

/// A local peer can read only one range of memory in place, and blocks of different sizes may not
/// be contiguous. MatrixTest (tests/system) checks the results.
TEST(HierarchicalProof, BlocksOfDifferentSizesAreNotUsedInPlace) {
    const std::vector<std::uint64_t> counts{30'001, 1, 0, 1, 0, 1};
    for (const bool uneven : {false, true}) {
        GenerateRequest request{.size = 6, .elements = 6 * 8192, .element_bytes = 8};
        if (uneven) {
            request.counts = counts;
            request.elements = 30'004;
        }
        for (const char* spec : {"hierarchical", "hierarchical:near=mapped"}) {
            const auto program = generate("allgather", *parse_spec(spec), request);
            ASSERT_TRUE(program.ok()) << spec << ": " << program.failure().text;
            const auto exposes = [](const plan::Step& step) {
                return step.kind == plan::StepKind::expose;
            };
            EXPECT_EQ(std::ranges::any_of(program->steps, exposes), !uneven) << spec;
        }
        const auto named =
            generate("allgather", *parse_spec("hierarchical:down=(mapped)"), request);
        EXPECT_EQ(named.ok(), !uneven);
    }
}

TEST(HierarchicalProof, PartsMayDivideTheBufferDifferently) {
    for (const plan::Layout& layout : irregular_layouts()) {
        for (const std::uint32_t segments : {1U, 2U}) {
            proves("allreduce", "hierarchical:node=(ring),net=(ring),down=(scatter-allgather)",
                   layout, {.segments = segments, .elements = 240});
            proves("allreduce", "hierarchical:node=(recursive-doubling),net=(double-tree)", layout,
                   {.segments = segments, .elements = 240});
        }
    }
}

TEST(HierarchicalProof, SchedulesAndHierarchiesCanBeParts) {
    proves("allreduce", "hierarchical:node=(a4),net=(m1g2a3,n1g3a2)", plan::Layout(28, 4),
           {.elements = 5, .ordered = true});
    proves("allreduce", "hierarchical:node=(a2,a3),net=(hierarchical:net=(ring))",
           plan::Layout(18, 6), {.elements = 9});
    const auto wrong = generate("allreduce", *parse_spec("hierarchical:node=(a3)"),
                                {.size = 8, .elements = 1, .layout = plan::Layout(8, 4)});
    ASSERT_FALSE(wrong.ok());
    EXPECT_TRUE(wrong.failure().text.starts_with("character 21:")) << wrong.failure().text;
}

TEST(HierarchicalProof, OneRankOfANodeCommunicatesWithOtherNodes) {
    for (const plan::Layout& layout : {plan::Layout(24, 6), plan::Layout(13, 4)}) {
        for (const std::string_view collective : {"barrier", "broadcast", "reduce", "allreduce"}) {
            const auto programs =
                programs_on(layout, collective, "hierarchical", {.root = 7, .elements = 1});
            std::set<std::pair<Rank, Rank>> communicating;  // nodes and ranks
            for (const plan::Program& program : programs)
                for (const plan::Step& step : program.steps)
                    if (step.peer != plan::kNoRank && !layout.near(step.peer, program.rank))
                        communicating.insert({layout.node_of(program.rank), program.rank});
            EXPECT_EQ(communicating.size(), static_cast<std::size_t>(layout.nodes())) << collective;
        }
    }
}

TEST(HierarchicalProof, NetworkRoundsEqualThoseOfTheNetPart) {
    for (Rank nodes = 2; nodes <= 17; ++nodes) {
        const plan::Layout layout(nodes * 3, 3);
        const auto rounds_of = [&](const char* collective, const char* spec) {
            return network_rounds(
                layout, programs_on(layout, collective, spec, {.root = 0, .elements = 1}));
        };
        for (const char* net : {"recursive-doubling", "ring", "reduce-broadcast"})
            EXPECT_EQ(rounds_of("allreduce", fmt::format("hierarchical:net=({})", net).c_str()),
                      prove("allreduce", net, {.size = nodes, .elements = 1}).rounds);
        EXPECT_EQ(rounds_of("barrier", "hierarchical"),
                  prove("barrier", "dissemination", {.size = nodes}).rounds);
        EXPECT_EQ(rounds_of("broadcast", "hierarchical:net=(flat)"), 1U);
    }
}

TEST(HierarchicalProof, RanksWithoutDirectAccessPutBlocks) {
    for (const char* spec : {"hierarchical", "hierarchical:near=auto", "hierarchical:near=put"}) {
        const collectives::AlgorithmSpec puts =
            collectives::with_local_puts("allgather", *collectives::parse_spec(spec));
        ASSERT_EQ(puts.parameters.size(), 1U) << spec;
        EXPECT_EQ(puts.parameters[0].value, "put") << spec;
    }
}

TEST(HierarchicalProof, EachPartHasALaneWithALoopOverTheSamePieces) {
    const plan::Layout layout(9, 3);
    constexpr const char* kComposed[] = {"allreduce", "allgather", "reduce_scatter"};
    for (const char* collective : kComposed)
        for (const char* near : {"put", "mapped"}) {
            const auto spec = fmt::format("hierarchical:net=(ring),near={},segments=4", near);
            for (const plan::Program& program :
                 programs_on(layout, collective, spec.c_str(), {.elements = 360})) {
                SCOPED_TRACE(fmt::format("{} {} rank {}", collective, spec, program.rank));
                EXPECT_EQ(program.segments, 4U);
                const auto lanes = program.distinct_lanes();
                EXPECT_EQ(lanes.size(), program.rank % 3 == 0 ? 3U : 2U);
                for (const plan::Lane& lane : lanes) {
                    const plan::Step& loop = program.steps[lane.first];
                    EXPECT_EQ(loop.kind, plan::StepKind::loop);
                    EXPECT_EQ(loop.signal + 1, lane.count);
                }
            }
        }
}

/// Puts of long buffers and blocks go to other nodes only. Within a node ranks read or write all
/// data in place.
TEST(HierarchicalProof, LongBuffersAreUsedInPlaceOnANode) {
    constexpr const char* kMapping[] = {"broadcast",      "reduce",  "allreduce",
                                        "gather",         "scatter", "allgather",
                                        "reduce_scatter", "scan",    "exscan"};
    for (const plan::Layout& layout :
         {plan::Layout(8, 2), plan::Layout(6, 3), layout_by({3, 1, 4}), layout_by({1, 2, 5})}) {
        for (const char* collective : kMapping) {
            for (const std::uint32_t segments : {1U, 3U}) {
                SCOPED_TRACE(fmt::format("{} on {} ranks", collective, layout.size()));
                const auto elements = contract(collective).vector_elements(layout.size(), 8192);
                const GenerateRequest request{
                    .root = 1, .segments = segments, .elements = elements};
                proves(collective, "hierarchical", layout, request);
                std::size_t mapped = 0;
                for (const plan::Program& program :
                     programs_on(layout, collective, "hierarchical", request)) {
                    for (const plan::Step& step : program.steps) {
                        if (step.kind == plan::StepKind::put) {
                            EXPECT_FALSE(layout.near(step.peer, program.rank));
                        }
                    }
                    mapped += static_cast<std::size_t>(std::ranges::count(
                        program.blocks, plan::Buffer::mapped, &plan::Block::buffer));
                }
                EXPECT_GT(mapped, 0U);
                for (const plan::Program& program :
                     programs_on(layout, collective, "hierarchical:near=put", request))
                    EXPECT_EQ(std::ranges::count(program.blocks, plan::Buffer::mapped,
                                                 &plan::Block::buffer),
                              0);
            }
        }
    }
}

TEST(HierarchicalProof, UnusableRequestsAreRefusedWithTheReason) {
    const plan::Layout dealt = dealt_layout(8, 2);
    const GenerateRequest request{.size = 8, .elements = 1, .ordered = true, .layout = dealt};
    struct Case {
        const char* spec;
        GenerateRequest request;
        const char* message;
    };
    GenerateRequest wrong_size = request;
    wrong_size.size = 7;
    GenerateRequest unordered = request;
    unordered.ordered = false;
    for (const Case& c :
         {Case{"hierarchical", request,
               "the operation does not commute, and allreduce hierarchical combines in rank order"},
          Case{"hierarchical", wrong_size, "layout has 8 ranks, but the team has 7"},
          Case{"hierarchical:net=(bring)", unordered,
               "character 19: allreduce has no algorithm 'bring'"},
          Case{"hierarchical:node=(flat:segments=2),net=(ring:segments=3)", unordered,
               "allreduce ring:segments=3 has 3 segments, but another part has 2: all parts"},
          Case{"hierarchical:node=up", unordered, "character 19: reduce has no algorithm 'up'"},
          Case{"hierarchical:nodes=(a2)", unordered,
               "character 14: hierarchical has no parameter 'nodes'; it has node, net, down, "
               "segments, near"}}) {
        const auto program = generate("allreduce", *parse_spec(c.spec), c.request);
        ASSERT_FALSE(program.ok()) << c.spec;
        EXPECT_TRUE(program.failure().text.starts_with(c.message)) << program.failure().text;
    }
}

}  // namespace
}  // namespace weft::collectives
