// SPDX-License-Identifier: BSD-3-Clause
// pipelined_trees.cpp - allreduce along a chain, a binary tree or two binary trees, as a pipeline.
//
// Idea     Pieces go up a tree and are combined, and the results come down the same tree. A rank
//          has a lane for each direction, so pieces go up while earlier ones come down. dual-root:
//          each half of the ranks has a tree, and the roots exchange their partial results.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, sections 3.1.4 and 3.3 (two
//          pipelined trees); Traeff, A doubly-pipelined, dual-root reduction-to-all algorithm.
// Rounds   For one piece twice the depth of the tree, and one more for a dual root; s pieces
//          overlap. Messages: 2 s (n - 1), and a credit for all but two pieces of an edge and
//          direction.
// Bytes    A rank sends one buffer to its parent and one to each child; it reduces one for each
//          child.
// Memory   A slot for each possible child, one for results and, for a dual root, one for the other
//          root's value, with two copies each, for any number of pieces. One scratch buffer.
// Good for Long buffers, and operations that do not commute: no rank has more than three neighbors.
//          dual-root is one level lower than pipelined-binary. The default is pieces of about 8
//          KiB.
// Holds    Combines in rank order. Each piece is reduced once and copied, so results are
//          bit-identical. A dual root orders its lanes by a signal to itself.
// Next     generate/tree.hpp for the steps; families/double_tree.cpp for two trees of all ranks.
#include "collectives/entries.hpp"
#include "collectives/generate/named_trees.hpp"
#include "collectives/generate/tree.hpp"

namespace weft::collectives {

namespace {

/// Writes the allreduce of the ranks of one tree. `at_root()` writes the steps of its root up to
/// the result in the output.
template <class AtRoot>
void write_up_and_down(BlockWriter& writer, const patterns::TreePlace& place, AtRoot at_root) {
    const std::uint32_t number = place.children_max + 1;
    const TreeData down{.number = number, .first_credit = number + 1};
    if (place.parent == plan::kNoRank) {
        at_root();
        send_down(writer, place, down);
    } else {
        combine_up(writer, place, writer.scratch(0, 0));
        send_up(writer, place, writer.scratch(0, 0));
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

Generate one_tree(TreeOf tree_of) {
    return [=](const AlgorithmSpec& spec, const GenerateRequest& request) {
        const Tree tree = tree_of(spec, request.size);
        if (!tree) return base::Result<plan::Program>(tree.failure());
        const auto place = patterns::place_in(*tree, {request.rank, request.size, 0});
        return program_by_blocks(
            {.collective = "allreduce", .blocks = 1, .synchronizing = true, .in_pieces = true},
            spec, request, [&](BlockWriter& writer, const GenerateRequest&) {
                write_up_and_down(writer, place,
                                  [&] { combine_up(writer, place, writer.output(0)); });
                if (request.size > 1) reserve_numbers(writer, place.children_max, 0);
            });
    };
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
    write_up_and_down(writer, place, [&] {
        if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
        const plan::Block own = writer.scratch(0, 0);
        const Rank other = upper ? 0 : half;
        combine_up(writer, place, own);
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
            .parameters = {{"segments", "by size", kSegmentsHelp, "2,5"}},
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
    return entry(
        "dual-root", "two binary trees of half the ranks, whose roots exchange pieces",
        "Traeff, A doubly-pipelined, dual-root reduction-to-all algorithm",
        by_blocks(
            {.collective = "allreduce", .blocks = 1, .synchronizing = true, .in_pieces = true},
            write_dual_root));
}

}  // namespace weft::collectives
