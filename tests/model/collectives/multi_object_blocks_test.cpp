// SPDX-License-Identifier: BSD-3-Clause
// Goal: multi-object collectives, in which every rank of a node communicates over the network, send
// the messages of their paper for blocks and for long buffers. registry_proof_test.cpp proves
// results on nodes of every shape.
// Method: counts of network messages are compared with the paper's figures.
#include <algorithm>
#include <map>
#include <numeric>

#include "collectives/generate/node_tree.hpp"
#include "collectives/transfer.hpp"
#include "plan/schedule/builder.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/figures.hpp"
#include "tests/model/collectives/node_proof.hpp"

namespace weft::collectives {
namespace {

NetworkTraffic traffic_of(const plan::Layout& layout, std::string_view collective,
                          const std::string& spec, Rank root = plan::kNoRank) {
    const auto size = static_cast<std::uint64_t>(layout.size());
    return network_traffic(layout,
                           programs_on(layout, collective, spec, {.root = root, .elements = size}));
}

TEST(MultiObject, EveryRadixOfAllgatherIsRight) {
    for (Rank radix = 2; radix <= 5; ++radix) {
        for (Rank nodes = 1; nodes <= 30; ++nodes) {
            const plan::Layout layout(nodes * 4, 4);
            const std::string spec = fmt::format("multi-object-bruck:radix={}", radix);
            EXPECT_EQ(traffic_of(layout, "allgather", spec).rounds, rounds_in_base(radix, nodes));
            if (nodes < 14)
                proves("allgather", spec, layout,
                       {.elements = static_cast<std::uint64_t>(layout.size())});
        }
    }
}

/// The paper's example, with an error in its remainder corrected.
TEST(MultiObject, PortsReceiveFromTheNodesOfThePaper) {
    // Returns the puts of each port of node 0: the distance in nodes to the left, and the number of
    // blocks per rank. A port receives the same data from the right.
    const auto puts_of_ports = [](Rank nodes) {
        const plan::Layout layout(nodes * 3, 3);
        std::vector<std::vector<std::pair<Rank, std::uint32_t>>> ports(3);
        for (Rank port = 0; port < 3; ++port) {
            const auto program = *generate("allgather", *parse_spec("multi-object-bruck"),
                                           {.rank = port,
                                            .size = layout.size(),
                                            .elements = static_cast<std::uint64_t>(layout.size()),
                                            .layout = layout});
            for (const plan::Step& step : program.steps) {
                if (step.kind != plan::StepKind::put || layout.near(step.peer, port)) continue;
                std::uint32_t blocks = 0;
                for (const plan::Block& block :
                     std::span(program.blocks).subspan(step.source.start, step.source.count))
                    blocks += block.count;
                ports[static_cast<std::size_t>(port)].emplace_back(
                    (nodes - layout.node_of(step.peer)) % nodes, blocks / 3);
            }
        }
        return ports;
    };
    using Puts = std::vector<std::vector<std::pair<Rank, std::uint32_t>>>;
    EXPECT_EQ(puts_of_ports(16), (Puts{{{1, 1}, {4, 4}}, {{2, 1}, {8, 4}}, {{3, 1}, {12, 4}}}));
    EXPECT_EQ(puts_of_ports(10), (Puts{{{1, 1}, {4, 4}}, {{2, 1}, {8, 2}}, {{3, 1}}}));
}

TEST(MultiObject, RingsSendOneBlockEachStep) {
    for (Rank nodes = 2; nodes <= 9; ++nodes) {
        const NetworkTraffic traffic = traffic_of({nodes * 4, 4}, "allgather", "multi-object-ring");
        EXPECT_EQ(traffic.rounds, static_cast<std::uint64_t>(nodes - 1));
        for (const std::uint64_t units : traffic.units)
            EXPECT_EQ(units, static_cast<std::uint64_t>(nodes - 1));
    }
}

TEST(MultiObject, ScatterSendsEveryBlockOnceInTheExpectedRounds) {
    for (Rank each = 1; each <= 4; ++each) {
        for (Rank nodes = 1; nodes <= 40; ++nodes) {
            const plan::Layout layout(nodes * each, each);
            const Rank root = (nodes / 2) * each + each - 1;
            for (const char* collective : {"scatter", "gather"}) {
                const NetworkTraffic traffic = traffic_of(layout, collective, "multi-object", root);
                // Consecutive messages of one port to different nodes are not a chain.
                const std::uint64_t rounds = rounds_in_base(each + 1, nodes);
                EXPECT_LE(traffic.rounds, rounds) << nodes << ' ' << each;
                EXPECT_EQ(part_sizes(nodes, each + 1).size(), rounds);
                EXPECT_EQ(traffic.messages, static_cast<std::uint64_t>(nodes - 1));
            }
            // All blocks of other nodes leave the root's node exactly once.
            const NetworkTraffic traffic = traffic_of(layout, "scatter", "multi-object", root);
            std::uint64_t sent = 0;
            for (Rank local = 0; local < each; ++local)
                sent += traffic.units[static_cast<std::size_t>(layout.rank_at(nodes / 2, local))];
            EXPECT_EQ(sent, static_cast<std::uint64_t>((nodes - 1) * each));
        }
    }
    // On nine nodes of two ranks, each message of the first round has three nodes' blocks: 6 units.
    const auto program = *generate("scatter", *parse_spec("multi-object"),
                                   {.size = 18, .root = 0, .elements = 18, .layout = {18, 2}});
    EXPECT_EQ(program.slot_capacity.front(), 6U);
    EXPECT_EQ(traffic_of({18, 2}, "scatter", "multi-object", 0).rounds, 2U);
}

TEST(MultiObject, LongAllreducesSendTheBufferTwiceOverTheNetwork) {
    for (Rank nodes = 2; nodes <= 8; ++nodes) {
        for (Rank each = 1; each <= 4; ++each) {
            for (const Rank parts : {1, 2, 4}) {
                // A unit is a block; the buffer has nodes * each blocks.
                const NetworkTraffic traffic =
                    traffic_of({nodes * each, each}, "allreduce",
                               fmt::format("multi-object-large:parts={}", parts));
                EXPECT_EQ(traffic.rounds, static_cast<std::uint64_t>(nodes));
                const std::uint64_t sent =
                    std::accumulate(traffic.units.begin(), traffic.units.end(), std::uint64_t{0});
                EXPECT_EQ(sent, static_cast<std::uint64_t>(2 * nodes * (nodes - 1) * each));
            }
        }
    }
}

/// Returns the number of puts to other nodes for each number of blocks in a put.
std::map<std::uint32_t, Rank> network_puts(const plan::Layout& layout,
                                           const plan::Program& program) {
    std::map<std::uint32_t, Rank> puts;
    for (const plan::Step& step : program.steps)
        if (step.kind == plan::StepKind::put && !layout.near(step.peer, program.rank))
            ++puts[program.blocks[step.source.start].count];
    return puts;
}

/// Rank l of a node of P ranks sends whole chunks to the nodes l, l + P, ..., except its own, and a
/// P-th of every chunk but one around the ring.
TEST(MultiObject, LongAllreducesSendTheMessagesOfThePaper) {
    for (Rank nodes = 2; nodes <= 40; ++nodes) {
        for (Rank each = 1; each <= 18; ++each) {
            const plan::Layout layout(nodes * each, each);
            const std::string spec =
                nodes < each ? "multi-object-large:parts=1" : "multi-object-large";
            for (const Rank rank : {0, each / 2, each - 1, nodes * each - 1}) {
                const auto program =
                    *generate("allreduce", *parse_spec(spec),
                              {.rank = rank,
                               .size = layout.size(),
                               .elements = static_cast<std::uint64_t>(layout.size()),
                               .layout = layout});
                Rank chunks = 0;
                for (Rank node = rank % each; node < nodes; node += each)
                    chunks += node == rank / each ? 0 : 1;
                const auto puts = network_puts(layout, program);
                const auto count = [&](Rank blocks) {
                    const auto found = puts.find(static_cast<std::uint32_t>(blocks));
                    return found == puts.end() ? 0 : found->second;
                };
                const std::string call = fmt::format("rank {} of {} x {}", rank, nodes, each);
                EXPECT_EQ(count(1), nodes - 1 + (each == 1 ? chunks : 0)) << call;
                EXPECT_EQ(count(each), each > 1 ? chunks : count(1)) << call;
                EXPECT_LE(puts.size(), 2U) << call;
                EXPECT_LE(std::abs(chunks - nodes / each), 1) << call;
            }
        }
    }
}

/// The default lets every rank combine a part, however few the nodes.
TEST(MultiObject, AllRanksCombineInLongAllreducesOfFewNodes) {
    for (Rank nodes = 1; nodes <= 6; ++nodes) {
        for (Rank each = 1; each <= 18; ++each) {
            const plan::Layout layout(nodes * each, each);
            for (const plan::Program& program :
                 programs_on(layout, "allreduce", "multi-object-large",
                             {.elements = static_cast<std::uint64_t>(layout.size())}))
                EXPECT_TRUE(each == 1 || std::ranges::count(program.steps, plan::StepKind::reduce,
                                                            &plan::Step::kind) > 0)
                    << nodes << " x " << each;
        }
    }
}

TEST(MultiObject, LongAllreducesInPartsAreRightOnUnevenNodes) {
    std::vector<plan::Layout> layouts = irregular_layouts();
    for (Rank size = 1; size <= 5; ++size)
        std::ranges::copy(every_layout(size), std::back_inserter(layouts));
    for (const plan::Layout& layout : layouts)
        for (const char* parameters :
             {"parts=1", "parts=2,near=mapped", "parts=3,segments=3", "near=mapped,segments=2"})
            proves("allreduce", fmt::format("multi-object-large:{}", parameters), layout,
                   {.elements = 40});
}

TEST(MultiObject, EachRankOfANodeCombinesOneChunk) {
    const plan::Layout layout(3, 3);
    const auto programs = programs_on(layout, "allreduce", "multi-object-large", {.elements = 3});
    for (const plan::Program& program : programs) {
        const auto chunk = static_cast<std::uint32_t>(program.rank);
        const auto reduce =
            std::ranges::find(program.steps, plan::StepKind::reduce, &plan::Step::kind);
        ASSERT_NE(reduce, program.steps.end());
        EXPECT_EQ(reduce->operands, 3U);
        EXPECT_EQ(program.blocks[reduce->target.start], plan::output(chunk));
    }
    EXPECT_EQ(prove("allreduce", programs, 3).reduced_bytes_max, 2U * 8);
}

// --- long blocks -------------------------------------------------------------------------------

struct LongCall {
    const char* collective;
    const char* spec;
};
constexpr LongCall kLongCalls[] = {{"allgather", "multi-object-ring"},
                                   {"allgather", "multi-object-bruck"},
                                   {"allreduce", "multi-object-large"},
                                   {"allreduce", "multi-object-small"},
                                   {"scatter", "multi-object"}};

std::vector<plan::Program> long_programs(const plan::Layout& layout, const LongCall& call,
                                         const std::string& spec) {
    const bool rooted = is_rooted(call.collective);
    return programs_on(layout, call.collective, spec,
                       {.root = rooted ? 1 : plan::kNoRank,
                        .elements = static_cast<std::uint64_t>(layout.size()) * 65536});
}

std::size_t mapped_blocks(const plan::Program& program) {
    return static_cast<std::size_t>(
        std::ranges::count(program.blocks, plan::Buffer::mapped, &plan::Block::buffer));
}

TEST(MultiObject, LongBlocksAreReadByPeersAndNotPutToThem) {
    const plan::Layout layouts[] = {{6, 3}, {7, 3}, {8, 4}, dealt_layout(7, 3)};
    for (const LongCall& call : kLongCalls) {
        for (const plan::Layout& layout : layouts) {
            SCOPED_TRACE(
                fmt::format("{} {} on {} ranks", call.collective, call.spec, layout.size()));
            std::size_t mapped = 0;
            for (const plan::Program& program : long_programs(layout, call, call.spec)) {
                mapped += mapped_blocks(program);
                for (const plan::Step& step : program.steps) {
                    if (step.kind == plan::StepKind::put) {
                        EXPECT_FALSE(layout.near(step.peer, program.rank));
                    }
                }
            }
            EXPECT_GE(mapped, static_cast<std::size_t>(layout.nodes()));
            const std::string puts = fmt::format("{}:near=put", call.spec);
            for (const plan::Program& program : long_programs(layout, call, puts))
                EXPECT_EQ(mapped_blocks(program), 0U);
        }
    }
}

/// Number and largest size of puts between ranks of one node.
struct LocalPuts {
    std::uint64_t count = 0;
    std::uint64_t bytes_max = 0;
};
LocalPuts local_puts(const plan::Layout& layout, const std::vector<plan::Program>& programs,
                     std::uint64_t elements) {
    LocalPuts puts;
    for (const plan::Program& program : programs) {
        const plan::Partition partition = program.partition(elements);
        for (const plan::Step& step : program.steps) {
            if (step.kind != plan::StepKind::put || !layout.near(step.peer, program.rank)) continue;
            std::uint64_t bytes = 0;
            for (const plan::Block& block :
                 std::span(program.blocks).subspan(step.source.start, step.source.count))
                bytes += 8 * partition.size(block.first, block.count);
            ++puts.count;
            puts.bytes_max = std::max(puts.bytes_max, bytes);
        }
    }
    return puts;
}

/// The threshold applies to the whole payload of a put, not to its single blocks.
TEST(MultiObject, PayloadsAboveTheThresholdAreNeverPutLocally) {
    const plan::Layout layouts[] = {
        {6, 3}, {20, 4}, {27, 3}, layout_by({3, 1, 4}), dealt_layout(11, 3), dealt_layout(12, 2)};
    for (const LongCall& call : kLongCalls) {
        std::uint64_t local_count = 0;
        for (const plan::Layout& layout : layouts) {
            for (const std::uint64_t block : {16, 60, 128, 342, 512, 1000, 1023, 1024, 1500}) {
                const bool rooted = is_rooted(call.collective);
                const std::uint64_t elements = block * static_cast<std::uint64_t>(layout.size());
                const auto programs = programs_on(
                    layout, call.collective, call.spec,
                    {.root = rooted ? 1 : plan::kNoRank, .elements = elements, .element_bytes = 8});
                const LocalPuts puts = local_puts(layout, programs, elements);
                EXPECT_LT(puts.bytes_max, kLocalInPlaceBytes)
                    << call.collective << ' ' << call.spec << ", " << block << " doubles, "
                    << layout.size() << " ranks on " << layout.nodes() << " nodes";
                local_count += puts.count;
            }
        }
        EXPECT_GT(local_count, 0U) << call.spec << ": no payload is short enough to be put";
    }
}

/// Contiguous blocks of a node are exposed together, not one by one.
TEST(MultiObject, AdjacentShortBlocksAreExposedTogether) {
    constexpr std::uint64_t kEach = 128;  // elements of a block: 1 KiB
    const plan::Layout layout(24, 12);
    const auto exposes = [&](const std::string& spec, Rank rank) {
        const auto programs = programs_on(layout, "scatter", spec,
                                          {.root = 0, .elements = 24 * kEach, .element_bytes = 8});
        return std::ranges::count(programs[static_cast<std::size_t>(rank)].steps,
                                  plan::StepKind::expose, &plan::Step::kind);
    };
    EXPECT_EQ(exposes("multi-object", 0), 11) << "port 0 is the root";
    EXPECT_EQ(exposes("multi-object", 12), 11);
    const plan::Layout other(36, 12);
    const auto root = programs_on(other, "scatter", "multi-object",
                                  {.root = 0, .elements = 36 * kEach, .element_bytes = 8})[0];
    EXPECT_EQ(std::ranges::count(root.steps, plan::StepKind::expose, &plan::Step::kind), 12);
    for (const char* spec : {"multi-object", "multi-object:segments=3"})
        proves("scatter", spec, other, {.root = 5, .elements = 36 * kEach, .element_bytes = 8});
    for (const char* spec : {"multi-object-bruck", "multi-object-bruck:radix=2,segments=2"})
        proves("allgather", spec, layout_by({3, 4, 5}), {.elements = 12 * 512, .element_bytes = 8});
}

TEST(MultiObject, AScatterCopiesEachLongBlockOnce) {
    const plan::Layout layouts[] = {{18, 2}, {30, 3}, dealt_layout(7, 3)};
    for (const plan::Layout& layout : layouts) {
        std::uint64_t copied = 0;
        for (const plan::Program& program :
             long_programs(layout, {"scatter", "multi-object"}, "multi-object")) {
            EXPECT_EQ(program.scratch, 0U);
            for (const plan::Step& step : program.steps)
                if (step.kind == plan::StepKind::copy) copied += step.source.count;
        }
        EXPECT_EQ(copied, static_cast<std::uint64_t>(layout.size()));
    }
}

TEST(MultiObject, PortsOfALongAllreduceReadTheInputsOfLocalPeers) {
    const plan::Layout layout(6, 3);
    for (const plan::Program& program :
         long_programs(layout, {"allreduce", "multi-object-large"}, "multi-object-large")) {
        const auto reduce =
            std::ranges::find(program.steps, plan::StepKind::reduce, &plan::Step::kind);
        ASSERT_NE(reduce, program.steps.end());
        const auto operands =
            std::span(program.blocks).subspan(reduce->source.start, reduce->source.count);
        EXPECT_EQ(std::ranges::count(operands, plan::Buffer::mapped, &plan::Block::buffer), 2);
        EXPECT_EQ(std::ranges::count(operands, plan::Buffer::input, &plan::Block::buffer), 1);
    }
}

}  // namespace
}  // namespace weft::collectives
