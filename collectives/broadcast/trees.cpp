// SPDX-License-Identifier: BSD-3-Clause
// trees.cpp - broadcast along a tree: flat, k-ary, k-nomial, or optimal in the LogP model.
//
// Idea     A rank that receives the vector forwards it to its children. Numbers are counted from
//          the root; subtrees are ranges. The algorithms differ in the tree, and in the default
//          number of pieces.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1; Karp, Sahay,
//          Santos and Schauser, Optimal broadcast and summation in the LogP model.
// Rounds   For one piece the depth of the tree; s pieces overlap. Messages: s * (n - 1). A pipeline
//          has one credit for each piece of a child but the last two.
//            flat              1; all messages from the root
//            kary              ceil(log_k((k-1)n + 1)) - 1; k = 1: the chain, k = n - 1: flat
//            chain             n - 1
//            pipelined-binary  as kary with k = 2
//            knomial           largest number of nonzero digits in base k of a number below n
//            binomial          as knomial with k = 2
//            logp-optimal      by the costs. A message takes w = latency + 2 overhead. A
//                              sender starts one each g = gap (or overhead, if longer). The time
//                              is the least t with reach(t) >= n, where reach(t) = 1 for t < w,
//                              else reach(t - g) + reach(t - w).
// Bytes    A rank sends one vector to each child: kary at most k, knomial at most (k-1) *
//          ceil(log_k n); a leaf sends none.
// Memory   One slot; in a pipeline two copies of it and a credit for each child.
// Good for flat: few ranks, or ranks of one node, since the root publishes once and all read in
//          place. kary: large n, if descriptors or the sender's time matter. knomial: short
//          vectors, if a put costs 1/k of its latency. logp-optimal: short vectors on a network
//          with known costs. chain, pipelined-binary: long vectors; the default is pieces of
//          about 8 KiB.
// Holds    Not synchronizing: the root never waits, except for credits. The length of a rank's
//          program depends on its children only, and its generator does not visit the other ranks.
// Next     tree.hpp for the steps; ../trees.hpp for the trees.
#include "collectives/trees.hpp"

#include "collectives/broadcast/tree.hpp"
#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

void write(BlockWriter& writer, const patterns::RangeTree& tree, const GenerateRequest& request,
           Landing into) {
    const auto place = patterns::place_in(tree, {request.rank, request.size, request.root});
    if (into == Landing::vector) return write_tree_of_vectors(writer, place);
    write_tree(writer, place, {});
    if (request.size == 1) return;
    writer->reserve_slots(1);
    writer->reserve_slot_units(1);
    if (writer.pipelined()) writer->reserve_capacity(0, 1);  // credits need no capacity
    writer.reserve_credits(1, place.children_max);
}

template <TreeOf kTree>
base::Result<plan::Program> generate_along(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const Tree tree = kTree(spec, request.size);
    if (!tree) return tree.failure();
    return program_that_lands({.collective = "broadcast", .blocks = 1}, spec, request,
                              [&](BlockWriter& writer, const GenerateRequest&, Landing into) {
                                  write(writer, *tree, request, into);
                              });
}

template <TreeOf kTree>
base::Result<plan::Program> generate_in_pieces(const AlgorithmSpec& spec,
                                               const GenerateRequest& request) {
    return generate_along<kTree>(spec, in_pieces(spec, request));
}

constexpr Properties kProperties{.ordered = true, .bit_identical = true};

Algorithm entry(std::string_view name, std::string_view summary, std::string_view source,
                std::vector<Parameter> parameters, decltype(Algorithm::generate) generate) {
    return {.collective = "broadcast",
            .name = name,
            .summary = summary,
            .source = source,
            .parameters = std::move(parameters),
            .properties = kProperties,
            .generate = generate};
}

/// Adds the parameter `into` for long vectors.
Algorithm landing_entry(Algorithm algorithm) {
    algorithm.parameters.push_back(kIntoParameter);
    algorithm.refine = &with_landing<kProperties>;
    return algorithm;
}

}  // namespace

Algorithm broadcast_flat() {
    return landing_entry(entry("flat", "the root puts the vector to every other rank",
                               "Hoefler and Moor, section 3.1", {{"segments", "1", kSegmentsHelp}},
                               &generate_along<flat_tree>));
}

Algorithm broadcast_kary() {
    return entry("kary", "every rank passes the vector to k others",
                 "Hoefler and Moor, section 3.1.2",
                 {{"k", "2", "children of a rank", "1,3,5"}, {"segments", "1", kSegmentsHelp, "3"}},
                 &generate_along<kary_tree>);
}

Algorithm broadcast_binomial() {
    return landing_entry(entry("binomial",
                               "the number of ranks that have the vector doubles each round",
                               "Hoefler and Moor, section 3.1", {{"segments", "1", kSegmentsHelp}},
                               &generate_along<binomial_tree>));
}

Algorithm broadcast_knomial() {
    return entry("knomial", "the number of ranks that have the vector grows k times each round",
                 "Hoefler and Moor, section 3.1.3",
                 {{"k", "4", "factor by which the ranks grow each round", "2,3,7"},
                  {"segments", "1", kSegmentsHelp, "3"}},
                 &generate_along<knomial_tree>);
}

Algorithm broadcast_logp_optimal() {
    return entry("logp-optimal", "along the tree that reaches all ranks soonest in the LogP model",
                 "Karp et al., Optimal broadcast in the LogP model", logp_parameters(),
                 &generate_along<logp_tree>);
}

Algorithm broadcast_chain() {
    return entry("chain", "each rank passes the vector on to the next, piece by piece",
                 "Hoefler and Moor, section 3.1.4", {{"segments", "by size", kSegmentsHelp, "2,5"}},
                 &generate_in_pieces<chain_tree>);
}

Algorithm broadcast_pipelined_binary() {
    return entry("pipelined-binary", "along a binary tree, piece by piece",
                 "Hoefler and Moor, section 3.1.4", {{"segments", "by size", kSegmentsHelp, "2,5"}},
                 &generate_in_pieces<binary_tree>);
}

}  // namespace weft::collectives
