// SPDX-License-Identifier: BSD-3-Clause
// Goal: neighborhood collectives are right for box and star stencils of up to three dimensions
// with a reach of up to two ranks, for random stencils, and on random directed graphs. Combined
// exchanges take the expected number of messages.
// Method: the verifier, on open and periodic grids, and on grids narrower than the stencil.
#include <array>
#include <bit>
#include <map>

#include "base/random.hpp"
#include "collectives/neighborhood/exchange.hpp"
#include "collectives/v_collective.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/exchange_proof.hpp"
#include "tests/model/collectives/proof.hpp"

namespace weft::collectives {
namespace {

constexpr std::array kWays{NeighborWay::direct, NeighborWay::combined};
constexpr std::array kData{NeighborData::same, NeighborData::own};

struct Case {
    NeighborData data = NeighborData::own;
    NeighborWay way = NeighborWay::direct;
    std::uint32_t segments = 1;
    std::uint64_t count = 5;  ///< elements of a block
    Rank per_node = 0;        ///< ranks of a node, which read blocks in place; 0: no rank does
};

std::vector<plan::Program> programs_of(const Stencil& stencil, const Case& tested) {
    std::vector<plan::Program> programs;
    const auto ranks = static_cast<Rank>(stencil.grid().ranks());
    for (Rank rank = 0; rank < ranks; ++rank) {
        std::vector<bool> mapped;
        for (Rank peer = 0; peer < ranks && tested.per_node > 0; ++peer)
            mapped.push_back(peer / tested.per_node == rank / tested.per_node);
        programs.push_back(generate_neighbors({.stencil = &stencil,
                                               .data = tested.data,
                                               .way = tested.way,
                                               .rank = rank,
                                               .segments = tested.segments,
                                               .elements = tested.count * stencil.offsets().size(),
                                               .mapped = tested.per_node > 0 ? &mapped : nullptr}));
    }
    return programs;
}

plan::Verdict prove(const Stencil& stencil, const Case& tested,
                    const std::vector<plan::Program>& programs) {
    const plan::Contract contract = neighbor_contract(stencil, tested.data);
    return plan::verify({.programs = programs,
                         .contract = &contract,
                         .elements = tested.count * stencil.offsets().size(),
                         .in_place = false});
}

plan::Verdict prove(const Stencil& stencil, const Case& tested) {
    return prove(stencil, tested, programs_of(stencil, tested));
}

Stencil stencil_of(const std::vector<Rank>& extents, std::vector<bool> periodic,
                   std::vector<Coordinates> offsets) {
    auto stencil = Stencil::make({extents, std::move(periodic)}, std::move(offsets));
    EXPECT_TRUE(stencil.ok());
    return *std::move(stencil);
}

/// Returns for each dimension whether it is periodic: bit i of `bits` for dimension i.
std::vector<bool> periodic_in(std::size_t dimensions, unsigned bits) {
    std::vector<bool> periodic;
    for (std::size_t i = 0; i < dimensions; ++i) periodic.push_back((bits >> i & 1) != 0);
    return periodic;
}

TEST(NeighborhoodProof, EveryStencilIsRightOnEveryGrid) {
    const std::vector<std::vector<Rank>> grids{{1},       {2},       {3},       {5},      {8},
                                               {1, 4},    {2, 3},    {3, 3},    {4, 5},   {1, 1, 1},
                                               {2, 1, 3}, {2, 2, 2}, {3, 2, 3}, {3, 3, 3}};
    int proven = 0;
    for (const std::vector<Rank>& extents : grids) {
        const auto dimensions = static_cast<int>(extents.size());
        for (unsigned bits = 0; bits < 1U << extents.size(); ++bits) {
            for (const int reach : {1, 2}) {
                for (const auto& offsets :
                     {box_offsets(dimensions, reach), star_offsets(dimensions, reach)}) {
                    const Stencil stencil =
                        stencil_of(extents, periodic_in(extents.size(), bits), offsets);
                    for (const NeighborData data : kData) {
                        for (const NeighborWay way : kWays) {
                            const Case tested{
                                .data = data,
                                .way = way,
                                .segments = 1U + (bits + static_cast<unsigned>(proven)) % 3,
                                .per_node = proven / 4 % 4};
                            const auto verdict = prove(stencil, tested);
                            ASSERT_TRUE(verdict.valid)
                                << dimensions << " dimensions, grid " << extents.front() << ".., "
                                << bits << ", reach " << reach << ", way " << static_cast<int>(way)
                                << ": " << verdict.error;
                            ++proven;
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(proven, 700);
}

/// Counts messages on periodic grids wide enough that all neighbors differ.
TEST(NeighborhoodProof, CombiningSendsOneMessagePerOffsetPart) {
    struct Figure {
        int dimensions, reach;
        std::uint64_t direct, combined;
    };
    for (const Figure& figure : {Figure{1, 1, 2, 2}, Figure{2, 1, 8, 4}, Figure{3, 1, 26, 6},
                                 Figure{1, 2, 4, 4}, Figure{2, 2, 24, 8}, Figure{3, 2, 124, 12}}) {
        const auto dimensions = static_cast<std::size_t>(figure.dimensions);
        const Stencil stencil = stencil_of(std::vector<Rank>(dimensions, figure.reach == 1 ? 3 : 5),
                                           std::vector<bool>(dimensions, true),
                                           box_offsets(figure.dimensions, figure.reach));
        const auto ranks = static_cast<std::uint64_t>(stencil.grid().ranks());
        for (const NeighborData data : kData) {
            // The numbers of messages do not depend on `data`, so large grids test only one.
            if (ranks > 30 && data == NeighborData::own) continue;
            const auto direct = prove(stencil, {data, NeighborWay::direct});
            ASSERT_TRUE(direct.valid) << direct.error;
            EXPECT_EQ(direct.messages, ranks * figure.direct);
            EXPECT_EQ(direct.rounds, 1U);
            const auto combined = prove(stencil, {data, NeighborWay::combined});
            ASSERT_TRUE(combined.valid) << combined.error;
            EXPECT_EQ(combined.messages, ranks * figure.combined);
            EXPECT_EQ(combined.rounds, dimensions);
        }
    }
}

TEST(NeighborhoodProof, CombiningSendsACommonBlockOncePerNeighbor) {
    const Stencil stencil = stencil_of({3, 3, 3}, periodic_in(3, 7), box_offsets(3, 1));
    for (const NeighborWay way : kWays)
        EXPECT_EQ(prove(stencil, {NeighborData::same, way}).bytes_total, 27U * 26 * 5 * 8);
    // A separate block for each neighbor travels along each nonzero part of its offset.
    EXPECT_EQ(prove(stencil, {NeighborData::own, NeighborWay::direct}).bytes_total,
              27U * 26 * 5 * 8);
    EXPECT_EQ(prove(stencil, {NeighborData::own, NeighborWay::combined}).bytes_total,
              27U * 54 * 5 * 8);
}

/// The team has 4 n + 16 put targets for n ranks. Segments use two copies of each.
TEST(NeighborhoodProof, NarrowGridsNeedNoMorePutTargetsThanTheTeamHas) {
    const std::vector<std::vector<Rank>> grids{{1},    {2},       {3},       {6},         {9},
                                               {17},   {2, 2},    {3, 3},    {2, 5},      {1, 2},
                                               {4, 4}, {2, 2, 2}, {3, 3, 3}, {2, 2, 2, 2}};
    for (const std::vector<Rank>& extents : grids) {
        const auto dimensions = static_cast<int>(extents.size());
        for (const unsigned bits : {0U, 1U, 15U}) {
            const Stencil stencil = stencil_of(extents, periodic_in(extents.size(), bits),
                                               box_offsets(dimensions, dimensions < 3 ? 8 : 2));
            for (const NeighborWay way : kWays) {
                const auto programs = programs_of(
                    stencil,
                    {.way = way, .segments = 2, .per_node = stencil.grid().ranks() % 2 == 0});
                const auto ranks = static_cast<std::uint32_t>(stencil.grid().ranks());
                EXPECT_LE(programs.front().slots * programs.front().depth,
                          std::bit_ceil(4 * ranks + 16))
                    << extents.front() << ".., " << bits << ", way " << static_cast<int>(way);
            }
        }
    }
}

/// Random lists of offsets with their opposites. A prefix of an offset need not be an offset.
TEST(NeighborhoodProof, RandomStencilsAreRight) {
    base::Random random(11);
    for (int trial = 0; trial < 100; ++trial) {
        const auto dimensions = 1 + random.below(3);
        std::vector<Rank> extents;
        for (std::uint64_t i = 0; i < dimensions; ++i)
            extents.push_back(static_cast<Rank>(1 + random.below(4)));
        std::vector<Coordinates> offsets;
        for (std::uint64_t left = 1 + random.below(5); left > 0; --left) {
            Coordinates offset;
            for (std::uint64_t i = 0; i < dimensions; ++i)
                offset.push_back(static_cast<std::int64_t>(random.below(7)) - 3);
            Coordinates back = offset;
            for (std::int64_t& part : back) part = -part;
            for (const Coordinates& offset_or_back : {offset, back})
                if (std::ranges::find(offsets, offset_or_back) == offsets.end())
                    offsets.push_back(offset_or_back);
        }
        const Stencil stencil = stencil_of(
            extents, periodic_in(extents.size(), static_cast<unsigned>(random.below(8))), offsets);
        for (const NeighborData data : kData) {
            for (const NeighborWay way : kWays) {
                const Case tested{data, way, 1 + static_cast<std::uint32_t>(random.below(3)),
                                  random.below(9), static_cast<Rank>(random.below(4))};
                const auto programs = programs_of(stencil, tested);
                const auto verdict = prove(stencil, tested, programs);
                ASSERT_TRUE(verdict.valid) << trial << ": " << verdict.error;
                const auto local = prove(stencil, tested, on_nodes(programs, 1 + trial % 5));
                ASSERT_TRUE(local.valid) << trial << " on nodes: " << local.error;
            }
        }
    }
}

TEST(NeighborhoodProof, AMissingOrMisdirectedMessageIsDetected) {
    const Stencil stencil = stencil_of({3, 3}, periodic_in(2, 3), box_offsets(2, 1));
    for (const NeighborWay way : kWays) {
        const Case tested{NeighborData::own, way};
        auto programs = programs_of(stencil, tested);
        for (plan::Step& step : programs[4].steps)
            if (step.kind == plan::StepKind::put && step.signal == 1) step.peer = 0;
        EXPECT_FALSE(prove(stencil, tested, programs).valid);
        programs = programs_of(stencil, tested);
        for (plan::Program& program : programs)  // right ranks, wrong block
            for (plan::Block& block : program.blocks)
                if (block.buffer == plan::Buffer::input && block.first < 2) block.first ^= 1;
        EXPECT_FALSE(prove(stencil, tested, programs).valid);
    }
}

TEST(NeighborhoodProof, InvalidStencilsAreRefused) {
    const auto why = [](Grid grid, std::vector<Coordinates> offsets) {
        const auto stencil = Stencil::make(std::move(grid), std::move(offsets));
        return stencil ? std::string() : stencil.failure().text;
    };
    EXPECT_EQ(why({{2, 2}, {true, true}}, {{0, 1}}), "the opposite of offset 0 is missing");
    EXPECT_EQ(why({{2}, {true}}, {{1}, {-1}, {1}}), "offset 2 repeats an earlier offset");
    EXPECT_EQ(why({{2}, {true}}, {{1, 0}}), "offset 0 has 2 parts, but the grid has 1 dimensions");
    EXPECT_NE(why({{2, 0}, {true, true}}, {{0, 1}}), "");
    EXPECT_NE(why({{2}, {true}}, {}), "");
}

/// Returns the messages along the edges to (or from) these ranks, without empty messages. Parallel
/// edges, empty ones included, are numbered in order.
std::vector<Message> messages_along(std::span<const Rank> peers,
                                    std::span<const std::uint64_t> counts) {
    std::map<Rank, std::uint32_t> before;
    std::vector<Message> messages;
    for (std::size_t i = 0; i < peers.size(); ++i) {
        const std::uint32_t parallel = before[peers[i]]++;
        if (counts[i] > 0)
            messages.push_back({.peer = peers[i], .count = counts[i], .parallel_index = parallel});
    }
    return messages;
}

/// Returns the largest number of edges to one rank.
std::uint32_t parallel_edges(std::span<const Rank> peers) {
    std::map<Rank, std::uint32_t> edges;
    std::uint32_t parallel_max = 1;
    for (const Rank peer : peers) parallel_max = std::max(parallel_max, ++edges[peer]);
    return parallel_max;
}

/// A directed graph, which may have parallel edges and edges from a rank to itself. An edge carries
/// a number of elements; `piece` is the maximum in a segment.
class Graph {
  public:
    Graph(std::size_t size, std::uint64_t piece)
        : piece_(piece), to_(size), from_(size), counts_(size), from_counts_(size) {}

    void add(Rank source, Rank target, std::uint64_t count) {
        const auto [s, t] =
            std::pair{static_cast<std::size_t>(source), static_cast<std::size_t>(target)};
        to_[s].push_back(target);
        counts_[s].push_back(count);
        from_[t].push_back(source);
        from_counts_[t].push_back(count);
        parallel_ = std::max(parallel_, parallel_edges(to_[s]));
    }
    [[nodiscard]] Exchange exchange() const {
        Exchange exchange{
            .collective = "neighbor_alltoallv", .piece = piece_, .parallel = parallel_};
        for (std::size_t rank = 0; rank < to_.size(); ++rank) {
            exchange.sent.push_back(messages_along(to_[rank], counts_[rank]));
            exchange.received.push_back(messages_along(from_[rank], from_counts_[rank]));
        }
        return exchange;
    }

  private:
    std::uint64_t piece_;
    std::uint32_t parallel_ = 1;
    std::vector<std::vector<Rank>> to_, from_;                      ///< by rank
    std::vector<std::vector<std::uint64_t>> counts_, from_counts_;  ///< by rank and edge
};

TEST(NeighborhoodProof, RandomDirectedGraphsAreRight) {
    base::Random random(12);
    std::uint32_t parallel_max = 1;
    for (int trial = 0; trial < 200; ++trial) {
        const std::size_t ranks = 1 + random.below(12);
        Graph graph(ranks, 1 + random.below(4));
        std::uint64_t elements = 0;
        for (std::uint64_t edges = random.below(4 * ranks); edges > 0; --edges) {
            const auto source = static_cast<Rank>(random.below(ranks));
            const auto target = static_cast<Rank>(random.below(ranks));
            const std::uint64_t count = random.below(10);
            graph.add(source, target, count);
            if (source != target) elements += count;
        }
        const Exchange exchange = graph.exchange();
        parallel_max = std::max(parallel_max, exchange.parallel);
        const auto verdict = exchange.verify();
        ASSERT_TRUE(verdict.valid) << trial << ": " << verdict.error;
        EXPECT_EQ(verdict.bytes_total, elements * 8);
    }
    EXPECT_GT(parallel_max, 2U);
}

TEST(NeighborhoodProof, TwoParallelEdgesInOneSlotAreDetected) {
    Graph graph(2, 4);
    graph.add(0, 1, 3);
    graph.add(0, 1, 3);
    EXPECT_TRUE(graph.exchange().verify().valid);
    auto programs = graph.exchange().programs();
    for (plan::Step& step : programs[0].steps)
        if (step.kind == plan::StepKind::put) step.signal = 0;
    const auto verdict = plan::verify({.programs = programs, .elements = 0, .in_place = false});
    EXPECT_FALSE(verdict.valid);
}

}  // namespace
}  // namespace weft::collectives
