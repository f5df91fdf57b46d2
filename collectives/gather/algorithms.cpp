// SPDX-License-Identifier: BSD-3-Clause
// algorithms.cpp - gather: flat, along the binomial tree, and along a tree of nodes.
//
// Idea     flat: every rank puts its block to the root. binomial: ../subtree_blocks.hpp.
//          multi-object: all ranks of a node receive blocks of other nodes, ../node_tree.hpp.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.1 (flat tree,
//          personalised).
// Rounds   flat: 1. Messages: n - 1, all to the root.
// Bytes    flat: every rank but the root sends one block.
// Memory   flat: n slots of one block, all of them at the root; with segments two copies each, and
//          a credit.
// Good for flat: long blocks, since each is sent once; few ranks, or ranks of one node.
// Holds    Not synchronizing. flat: the number of a put is its sender's rank.
#include "collectives/entries.hpp"
#include "collectives/landing.hpp"
#include "collectives/node_tree.hpp"
#include "collectives/patterns/relative_rank.hpp"
#include "collectives/subtree_blocks.hpp"

namespace weft::collectives {

namespace {

/// Writes the flat program with into=vector: the root exposes to each rank the place of its block.
void write_flat_into_vector(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = static_cast<std::uint32_t>(request.rank);
    const auto exposed = static_cast<std::uint32_t>(request.size);
    writer->reserve_slots(request.size == 1 ? 0 : exposed + 1);
    if (request.rank != request.root) {
        writer->wait(request.root, exposed);
        return put_into_place(writer, request.root, own, exposed, writer.input(own));
    }
    const patterns::RelativeRank place{request.rank, request.size, request.root};
    for (Rank number = 1; number < request.size; ++number) {
        const Rank from = place.rank_of(number);
        writer->expose(from, exposed, writer.output(static_cast<std::uint32_t>(from)),
                       plan::kWritten);
    }
    writer->copy(writer.output(own), writer.input(own));
    for (Rank number = 1; number < request.size; ++number) {
        const Rank from = place.rank_of(number);
        writer->wait(from, static_cast<std::uint32_t>(from));
    }
}

void write_flat(BlockWriter& writer, const GenerateRequest& request, Landing into) {
    if (into == Landing::vector) return write_flat_into_vector(writer, request);
    const auto own = static_cast<std::uint32_t>(request.rank);
    const auto credit = static_cast<std::uint32_t>(request.size);
    if (request.rank != request.root) {
        writer.await_credit(request.root, credit);
        writer->put(request.root, own, writer.input(own));
    } else {
        writer->copy(writer.output(own), writer.input(own));
    }
    reserve_slot_of_each(writer, request);
    for (Rank rank = 0; rank < request.size; ++rank) {
        const auto number = static_cast<std::uint32_t>(rank);
        if (request.rank != request.root || rank == request.root) continue;
        writer->wait(rank, number);
        writer->copy(writer.output(number), writer.slot(number, number));
        writer.give_credit(rank, credit);
    }
    writer.reserve_credits(credit, 1);
}

template <void (*kWrite)(BlockWriter&, const GenerateRequest&)>
base::Result<plan::Program> generate_by(const AlgorithmSpec& spec, const GenerateRequest& request) {
    return program_by_blocks({.collective = "gather"}, spec, request, kWrite);
}

base::Result<plan::Program> generate_flat(const AlgorithmSpec& spec,
                                          const GenerateRequest& request) {
    return program_that_lands({.collective = "gather"}, spec, request, write_flat);
}

constexpr Properties kFlat{.ordered = true, .bit_identical = true};

void write_binomial(BlockWriter& writer, const GenerateRequest& request) {
    SubtreeBlocks(writer, request).gather();
}

void write_multi_object(BlockWriter& writer, const GenerateRequest& request) {
    NodeTreeBlocks(writer, request).gather();
}

}  // namespace

Algorithm gather_flat() {
    return {
        .collective = "gather",
        .name = "flat",
        .summary = "every rank puts its block to the root",
        .source = "Hoefler and Moor, section 3.1.1",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}, kIntoParameter},
        .properties = kFlat,
        .generate = &generate_flat,
        .refine = &with_landing<kFlat>,
    };
}

Algorithm gather_binomial() {
    return {
        .collective = "gather",
        .name = "binomial",
        .summary = "subtrees of doubling size hand on their blocks",
        .source = "Hoefler and Moor, section 3.1.3",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = &generate_by<write_binomial>,
    };
}

Algorithm gather_multi_object() {
    return {
        .collective = "gather",
        .name = "multi-object",
        .summary = "every rank of a node takes in the blocks of some other nodes",
        .source = "Huang et al., PiP-MColl, section III-A1, turned round",
        .parameters = {{"segments", "1", kSegmentsHelp}},
        .properties = {.ordered = true, .bit_identical = true, .for_nodes = true},
        .generate = &generate_by<write_multi_object>,
    };
}

}  // namespace weft::collectives
