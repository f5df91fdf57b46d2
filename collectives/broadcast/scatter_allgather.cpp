// SPDX-License-Identifier: BSD-3-Clause
// scatter_allgather.cpp - broadcast by scattering blocks and passing them around a ring.
//
// Idea     The root scatters the vector along a binomial tree, so that each rank has the block of
//          its number (and those of its subtree); then all blocks go around a ring. Ranks are
//          counted from the root.
// Source   Barnett et al. and van de Geijn, as in Thakur, Rabenseifner and Gropp, Optimization of
//          collective communication operations in MPICH, section 4.3.
// Rounds   n - 1, and as many as any number below n has bits: ceil(log2 n) at most. Messages: n - 1
//          to scatter, n (n - 1) around the ring.
// Bytes    Of m: each rank sends m (1 - 1/n) around the ring; the scatter moves m/n times the bits
//          of all numbers below n, most of it from the root.
// Memory   n - 1 slots of one block, one for a subtree's; no scratch.
// Good for Long vectors on few ranks: about 2m for each rank, whatever n.
// Holds    Synchronizing: what has gone around the ring has passed all ranks.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/patterns/range_tree.hpp"
#include "collectives/ring.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kScatter = 0;
constexpr std::uint32_t kFirstStep = 1;

/// Down the tree. Ranks are counted from the root; block v belongs to number v.
void scatter(BlockWriter& writer, const patterns::RelativeRank& own,
             const patterns::TreeNode& node) {
    const auto first = static_cast<std::uint32_t>(own.number());
    const auto count = static_cast<std::uint32_t>(node.size);
    if (own.number() == 0) {
        writer->copy(writer.output(0, count), writer.input(0, count));
    } else {
        writer->wait(own.rank_of(node.parent), kScatter);
        writer->copy(writer.output(first, count), writer.slot(kScatter, first, count));
    }
    for (const patterns::Branch& branch : node.branches) {
        const auto child = first + static_cast<std::uint32_t>(branch.distance);
        writer->put(own.rank_of(static_cast<Rank>(child)), kScatter,
                    writer.output(child, static_cast<std::uint32_t>(branch.size)));
    }
}

void write(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::RelativeRank own{request.rank, request.size, request.root};
    const patterns::RangeTree tree = patterns::knomial_tree(own.size, 2);
    const patterns::TreeNode node = patterns::find_node(tree, own.size, own.number());
    scatter(writer, own, node);
    const auto first = static_cast<std::uint32_t>(own.number());
    pass_around(writer, own, kFirstStep, [&](std::uint32_t block) {
        return block >= first && block < first + static_cast<std::uint32_t>(node.size);
    });
    for (const patterns::Branch& branch : tree.branches(own.size))
        writer->reserve_capacity(kScatter, static_cast<std::uint32_t>(branch.size));
    for (std::uint32_t step = 0; step + 1 < static_cast<std::uint32_t>(own.size); ++step)
        writer->reserve_capacity(kFirstStep + step, 1);
}

base::Result<plan::Program> generate_scatter_allgather(const AlgorithmSpec& spec,
                                                       const GenerateRequest& request) {
    return program_by_blocks({.collective = "broadcast", .synchronizing = true}, spec, request,
                             write);
}

}  // namespace

Algorithm broadcast_scatter_allgather() {
    return {
        .collective = "broadcast",
        .name = "scatter-allgather",
        .summary = "blocks are scattered along a binomial tree, then passed around a ring",
        .source = "van de Geijn; Thakur, Rabenseifner and Gropp, section 4.3",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_scatter_allgather,
    };
}

}  // namespace weft::collectives
