// SPDX-License-Identifier: BSD-3-Clause
// reduce_broadcast.cpp - allreduce along a tree: a reduction up, then a broadcast down.
//
// Idea     A rank combines its own buffer with the buffers of its subtrees and sends it to its
//          parent. It receives the result from the parent and forwards it to its children. The tree
//          is a parameter.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, sections 3.1 and
//          3.3 (two trees).
// Rounds   Twice the depth of the tree: ceil(log2 n) for binomial, the height of a tree of degree k
//          for kary. Messages: 2 (n - 1), fewer than in any exchange.
// Bytes    Each message carries the whole buffer. A rank sends one to its parent and one
//          to each child.
// Memory   One slot for each child and one for the result. With kary a rank has at most k + 1
//          descriptors for any number of ranks.
// Good for Little energy (few messages) and little memory; an exchange takes half the rounds.
// Holds    Subtrees are ranges of ranks and are combined in order, so results are in rank order.
//          One rank computes the result, so all ranks get the same bits. The number of a child's
//          put is its index among its siblings. The result has the next number on every rank
//          (kShared). In a loop one copy of each slot is enough: a child sends the next segment
//          only after the result of the previous one, so its parent has read the slot.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/generate/named_trees.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const patterns::RangeTree& tree, const GenerateRequest& request) {
    const patterns::RelativeRank own{request.rank, request.size, 0};
    const auto place = patterns::place_in(patterns::in_rank_order(tree), own);
    const std::uint32_t result = place.children_max;
    const bool leaf = place.children.empty();
    const plan::Block sum = leaf ? writer.input(0) : writer.output(0);
    std::vector<plan::Block> operands{writer.input(0)};
    std::uint32_t number = 0;
    for (const Rank child : place.children) {
        writer->wait(child, number);
        operands.push_back(writer.slot(number++, 0));
    }
    if (!leaf) writer->reduce(sum, operands);
    if (place.parent != plan::kNoRank) {
        writer->put(place.parent, place.child_index, sum);
        writer->wait(place.parent, result, plan::kShared);
        writer->flush();
        writer->copy(writer.output(0), writer.slot(result, 0));
    } else if (leaf) {
        writer->copy(writer.output(0), sum);
    }
    for (const Rank child : patterns::place_in(tree, own).children)
        writer->put(child, result, writer.output(0), plan::kShared);
    if (request.size == 1) return;
    writer->reserve_slots(result + 1);
    writer->reserve_slot_units(1);
}

base::Result<plan::Program> generate_reduce_broadcast(const AlgorithmSpec& spec,
                                                      const GenerateRequest& request) {
    const patterns::RangeTree tree = WEFT_TRY(tree_parameter(spec, request.size));
    return program_by_blocks(
        {.collective = "allreduce", .blocks = 1, .depth = 1, .synchronizing = true}, spec, request,
        [&](BlockWriter& writer, const GenerateRequest&) { write(writer, tree, request); });
}

std::vector<std::string> tree_variants(const CandidateRequest&) {
    return {"reduce-broadcast:tree=(kary:k=2)", "reduce-broadcast:tree=(kary:k=4)"};
}

}  // namespace

Algorithm allreduce_reduce_broadcast() {
    return {
        .collective = "allreduce",
        .name = "reduce-broadcast",
        .summary = "values go up a tree and are combined, the result comes down",
        .source = "Hoefler and Moor, section 3.3",
        .parameters = {kTreeParameter, {"segments", "1", kSegmentsHelp}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_reduce_broadcast,
        .variants = &tree_variants,
    };
}

}  // namespace weft::collectives
