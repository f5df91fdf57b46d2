// SPDX-License-Identifier: BSD-3-Clause
// algorithms.cpp - scatter: flat, along the binomial tree, and along a tree of nodes.
//
// Idea     flat: the root puts to each rank its block, from the next rank on. binomial:
//          ../subtree_blocks.hpp. multi-object: all ranks of a node forward blocks to other nodes,
//          ../node_tree.hpp and, for long blocks, ../node_tree_exposed.hpp.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.1 (flat tree,
//          personalised).
// Rounds   flat: 1. Messages: n - 1, all from the root.
// Bytes    flat: the root sends n - 1 blocks.
// Memory   flat: one slot of one block; with segments two copies of it, and n - 1 credits at the
//          root.
// Good for flat: long blocks, since each is sent once; few ranks.
// Holds    Not synchronizing. flat: the number of a credit is the rank's number, counted
//          from the root.
#include "collectives/entries.hpp"
#include "collectives/landing.hpp"
#include "collectives/near_way.hpp"
#include "collectives/node_tree.hpp"
#include "collectives/node_tree_exposed.hpp"
#include "collectives/subtree_blocks.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kData = 0;

/// Writes the flat program with into=vector: each rank exposes its block to the root.
void write_flat_into_vector(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::RelativeRank relative{request.rank, request.size, request.root};
    const auto own = static_cast<std::uint32_t>(request.rank);
    const auto exposed = [](Rank number) { return kData + static_cast<std::uint32_t>(number); };
    writer->reserve_slots(request.size == 1 ? 0 : exposed(request.size));
    if (request.rank != request.root) {
        writer->expose(request.root, exposed(relative.number()), writer.output(own),
                       plan::kWritten);
        return writer->wait(request.root, kData);
    }
    writer->copy(writer.output(own), writer.input(own));
    for (Rank number = 1; number < request.size; ++number) {
        const Rank to = relative.rank_of(number);
        writer->wait(to, exposed(number));
        put_into_place(writer, to, kData, exposed(number),
                       writer.input(static_cast<std::uint32_t>(to)));
    }
}

void write_flat(BlockWriter& writer, const GenerateRequest& request, Landing into) {
    if (into == Landing::vector) return write_flat_into_vector(writer, request);
    const patterns::RelativeRank relative{request.rank, request.size, request.root};
    const auto own = static_cast<std::uint32_t>(request.rank);
    const auto credit = [](Rank number) { return kData + static_cast<std::uint32_t>(number); };
    if (request.rank == request.root) {
        writer->copy(writer.output(own), writer.input(own));
        for (Rank number = 1; number < request.size; ++number) {
            const Rank to = relative.rank_of(number);
            writer.await_credit(to, credit(number));
            writer->put(to, kData, writer.input(static_cast<std::uint32_t>(to)));
        }
    } else {
        writer->wait(request.root, kData);
        writer->copy(writer.output(own), writer.slot(kData, own));
        writer.give_credit(request.root, credit(relative.number()));
    }
    if (request.size == 1) return;
    writer->reserve_capacity(kData, 1);
    writer.reserve_credits(credit(1), static_cast<std::uint32_t>(request.size - 1));
}

template <void (*kWrite)(BlockWriter&, const GenerateRequest&)>
base::Result<plan::Program> generate_by(const AlgorithmSpec& spec, const GenerateRequest& request) {
    return program_by_blocks({.collective = "scatter"}, spec, request, kWrite);
}

base::Result<plan::Program> generate_flat(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_that_lands({.collective = "scatter"}, spec, request, write_flat);
}

constexpr Properties kFlat{.ordered = true, .bit_identical = true};

void write_binomial(BlockWriter& writer, const GenerateRequest& request) {
    SubtreeBlocks(writer, request).scatter();
}

/// Returns the bytes of the largest payload from a holder to a port: the largest part of the tree.
std::uint64_t bytes_handed(const GenerateRequest& request) {
    const plan::Layout layout = layout_of(request);
    const std::vector<Rank> parts = part_sizes(layout.nodes(), layout.least() + 1);
    return (parts.empty() ? 1 : ranks_at_most(layout, parts.front())) * block_bytes(request);
}

constexpr Properties kMultiObject{.ordered = true, .bit_identical = true, .for_nodes = true};

base::Result<plan::Program> generate_multi_object(const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    const base::Result<NearWay> near = near_way(spec, bytes_handed(request));
    if (!near) return near.failure();
    return program_by_blocks({.collective = "scatter"}, spec, request,
                             [&](BlockWriter& writer, const GenerateRequest&) {
                                 if (*near == NearWay::mapped)
                                     ExposedTreeBlocks(writer, request).scatter();
                                 else
                                     NodeTreeBlocks(writer, request).scatter();
                             });
}

}  // namespace

Algorithm scatter_flat() {
    return {
        .collective = "scatter",
        .name = "flat",
        .summary = "the root puts each rank's block to it",
        .source = "Hoefler and Moor, section 3.1.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}, kIntoParameter},
        .properties = kFlat,
        .generate = &generate_flat,
        .refine = &with_landing<kFlat>,
    };
}

Algorithm scatter_binomial() {
    return {
        .collective = "scatter",
        .name = "binomial",
        .summary = "subtrees of halving size get their blocks",
        .source = "Hoefler and Moor, section 3.1.3",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_by<write_binomial>,
    };
}

Algorithm scatter_multi_object() {
    return {
        .collective = "scatter",
        .name = "multi-object",
        .summary = "every rank of a node passes on the blocks of some other nodes",
        .source = "Huang et al., PiP-MColl, section III-A1",
        .parameters = {{"segments", "1", kSegmentsHelp}, kNearParameter},
        .properties = kMultiObject,
        .generate = &generate_multi_object,
        .refine = &with_near_way<kMultiObject>,
    };
}

}  // namespace weft::collectives
