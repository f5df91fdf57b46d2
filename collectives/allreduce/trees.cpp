// SPDX-License-Identifier: BSD-3-Clause
// trees.cpp - allreduce along a tree: a reduction up, then a broadcast down.
//
// Idea     Values go up a tree and are combined, and the result comes down the same tree.
//            reduce-broadcast   any tree; a rank combines all values before it forwards them
//            chain, pipelined-binary  a rank has a lane for each direction, so pieces go up while
//                               earlier ones come down
//            dual-root          each half of the ranks has a binary tree, and the roots exchange
//                               their partial results
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, sections 3.1.4 and 3.3; Traeff,
//          A doubly-pipelined, dual-root reduction-to-all algorithm.
// Rounds   For one piece twice the depth of the tree (binomial: ceil(log2 n), kary: the height of a
//          tree of degree k), and one more for a dual root; s pieces overlap. Messages: 2 s (n - 1)
//          and, except for reduce-broadcast, a credit for all but two pieces of an edge and
//          direction.
// Bytes    A rank sends one buffer to its parent and one to each child; it reduces one for each
//          child.
// Memory   A slot for each possible child, one for results and, for a dual root, one for the other
//          root's value. Pipelines: two copies of each, for any number of pieces, and one scratch
//          buffer. reduce-broadcast: with kary at most k + 1 descriptors for any number of ranks.
// Good for reduce-broadcast: little energy (few messages) and little memory; an exchange takes half
//          the rounds. Pipelines: long buffers, and operations that do not commute: no rank has
//          more than three neighbors. dual-root is one level lower than pipelined-binary. The
//          default is pieces of about 8 KiB.
// Holds    Subtrees are ranges of ranks and are combined in order, so results are in rank order.
//          Each piece is reduced once and copied, so they are bit-identical. The number of a
//          child's put is its index among its siblings; results have one number on every rank
//          (kShared). In a loop reduce-broadcast needs one copy of each slot: a child sends the
//          next segment only after the result of the previous one, so its parent has read the slot.
//          A dual root orders its lanes by a signal to itself.
// Next     generate/tree.hpp for the steps; families/double_tree.cpp for two trees of all ranks.
#include "collectives/entries.hpp"
#include "collectives/generate/named_trees.hpp"
#include "collectives/generate/tree.hpp"

namespace weft::collectives {

namespace {

void write_reduce_broadcast(BlockWriter& writer, const GenerateRequest& request,
                            const patterns::RangeTree& tree) {
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

/// Writes the pipeline of the ranks of one tree. `at_root(up)` writes the steps of its root up to
/// the result in the output.
template <class AtRoot>
void write_up_and_down(BlockWriter& writer, const patterns::TreePlace& place, AtRoot at_root) {
    const UpData up{.credit = place.children_max};
    const std::uint32_t number = place.children_max + 1;
    const TreeData down{.number = number, .first_credit = number + 1};
    if (place.parent == plan::kNoRank) {
        at_root(up);
        send_down(writer, place, down);
    } else {
        combine_up(writer, place, writer.scratch(0, 0), up);
        send_up(writer, place, writer.scratch(0, 0), up);
        writer.begin_lane();
        write_tree(writer, place, down);
    }
}

/// Reserves the numbers of write_up_and_down(), and `more` further ones.
void reserve_numbers(BlockWriter& writer, std::uint32_t children, std::uint32_t more) {
    writer->reserve_capacities(0, children, 1);
    writer->reserve_capacity(children + 1, 1);
    writer->reserve_slots(2 * children + 2 + more);
}

constexpr BlockCall kPipeline{.blocks = 1, .in_pieces = true};

Generate one_tree(TreeOf tree_of) {
    const auto read = [=](const GenerateRequest& request) {
        return tree_of(*request.spec, request.size);
    };
    const auto write = [](BlockWriter& writer, const GenerateRequest& request,
                          const patterns::RangeTree& tree) {
        const auto place = patterns::place_in(tree, {request.rank, request.size, 0});
        write_up_and_down(writer, place,
                          [&](UpData up) { combine_up(writer, place, writer.output(0), up); });
        if (request.size > 1) reserve_numbers(writer, place.children_max, 0);
    };
    return by_blocks(kPipeline, read, write);
}

void write_dual_root(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kChildren = 2;
    constexpr std::uint32_t kExchange = 2 * kChildren + 2;  // number of the other root's value
    constexpr std::uint32_t kCredit = kExchange + 1;
    // Signals of a root to itself: a piece is in scratch, and it has been used.
    constexpr std::uint32_t kCombined = kExchange + 2;
    constexpr std::uint32_t kUsed = kExchange + 3;
    const Rank half = request.size - request.size / 2;
    const bool upper = request.rank >= half;
    const Rank first = upper ? half : 0;
    auto place = patterns::place_in(patterns::kary_tree(request.size, kChildren),
                                    {request.rank - first, upper ? request.size - half : half, 0});
    place.children_max = kChildren;
    if (place.parent != plan::kNoRank) place.parent += first;
    for (Rank& child : place.children) child += first;
    write_up_and_down(writer, place, [&](UpData up) {
        if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
        const plan::Block own = writer.scratch(0, 0);
        const Rank other = upper ? 0 : half;
        combine_up(writer, place, own, up);
        writer.await_credit(other, kCredit);
        writer->put(other, kExchange, own);
        writer.await_credit(request.rank, kUsed);
        writer->signal(request.rank, kCombined);
        writer.begin_lane();
        writer->wait(request.rank, kCombined);
        writer->wait(other, kExchange);
        const plan::Block received = writer.slot(kExchange, 0);
        writer->reduce(writer.output(0), {upper ? received : own, upper ? own : received});
        writer.give_credit(other, kCredit);
        writer.give_credit(request.rank, kUsed);
    });
    if (request.size == 1) return;
    reserve_numbers(writer, kChildren, 4);
    writer->reserve_capacity(kExchange, 1);
}

Algorithm entry(std::string_view name, std::string_view summary, std::string_view source,
                Generate generate) {
    return {.collective = "allreduce",
            .name = name,
            .summary = summary,
            .source = source,
            .parameters = {kSegmentsBySize},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = std::move(generate)};
}

}  // namespace

Algorithm allreduce_chain() {
    return entry("chain", "pieces are reduced along a chain, and results come back along it",
                 "Hoefler and Moor, section 3.1.4", one_tree(chain_tree));
}
Algorithm allreduce_pipelined_binary() {
    return entry("pipelined-binary", "pieces go up a binary tree, and results come down",
                 "Hoefler and Moor, section 3.3", one_tree(binary_tree));
}
Algorithm allreduce_dual_root() {
    return entry("dual-root", "two binary trees of half the ranks, whose roots exchange pieces",
                 "Traeff, A doubly-pipelined, dual-root reduction-to-all algorithm",
                 by_blocks(kPipeline, write_dual_root));
}
Algorithm allreduce_reduce_broadcast() {
    Algorithm algorithm =
        entry("reduce-broadcast", "values go up a tree and are combined, the result comes down",
              "Hoefler and Moor, section 3.3",
              by_blocks({.blocks = 1, .depth = 1}, tree_parameter, write_reduce_broadcast));
    algorithm.parameters = {kTreeParameter, kSegments};
    algorithm.variants = [](const CandidateRequest&) {
        return std::vector<std::string>{"reduce-broadcast:tree=(kary:k=2)",
                                        "reduce-broadcast:tree=(kary:k=4)"};
    };
    return algorithm;
}

}  // namespace weft::collectives
