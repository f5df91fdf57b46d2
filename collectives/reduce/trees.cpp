// SPDX-License-Identifier: BSD-3-Clause
// trees.cpp - reduce along a tree: k-ary, k-nomial, or optimal in the LogP model.
//
// Idea     The reverse of broadcast/trees.cpp: wait for the children's partial results, combine
//          them after the own value in the order of their ranges, and put the result to the parent.
//          With segments these steps are a loop.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1; Rabenseifner,
//          Optimization of collective reduction operations, section 3.3; Karp, Sahay, Santos and
//          Schauser, Optimal broadcast and summation in the LogP model.
// Rounds   As for the broadcast: kary ceil(log_k((k-1)n + 1)) - 1, chain n - 1, knomial the largest
//          number of nonzero digits in base k of a number below n. Messages: s * (n - 1) for s
//          pieces. A pipeline has one credit for each piece but the last two.
// Bytes    Every rank but the root sends one vector, and reduces one for each of its children.
// Memory   A slot for each possible child; in a pipeline two copies each and a credit. A scratch
//          vector on ranks with children.
// Good for As the broadcasts: kary for large n if descriptors or the receiver's time matter,
//          knomial and logp-optimal for short vectors, chain and pipelined-binary for long ones.
//          For these two the default is pieces of about 8 KiB.
// Holds    Not synchronizing. Numbers are counted from the root, so results are in rank order if
//          the root is rank 0. If the operation does not commute, rank 0 is the top of the tree for
//          any root, and puts the result to the root. This adds one message. The number of a
//          child's data is its index among its siblings. Next are the parent's credit, the
//          forwarded result, and its credit.
//          parent, the forwarded result and its credit.
// Next     ../trees.hpp for the trees; flat.cpp for the flat tree, which keeps rank order
//          with any root.
#include "collectives/trees.hpp"

#include <algorithm>

#include "collectives/blocks.hpp"
#include "collectives/entries.hpp"

namespace weft::collectives {

namespace {

class TreeReduction {
  public:
    TreeReduction(BlockWriter& writer, const patterns::RangeTree& tree,
                  const GenerateRequest& request)
        : writer_(writer),
          root_(request.root),
          own_{request.rank, request.size, request.ordered ? 0 : request.root},
          place_(patterns::place_in(tree, own_)) {}

    void write() {
        const bool forwards = own_.root != root_;
        if (own_.number() != 0) {
            const bool leaf = place_.children.empty();
            const plan::Block partial = leaf ? writer_.input(0) : writer_.scratch(0, 0);
            if (!leaf) combine(partial);
            give(place_.parent, place_.child_index, credit(), partial);
        } else if (forwards) {
            combine(writer_.scratch(0, 0));
            give(root_, forwarded(), forwarded_credit(), writer_.scratch(0, 0));
        } else {
            combine(writer_.output(0));
        }
        if (forwards && own_.rank == root_) take_forwarded();
        if (own_.size > 1) reserve(forwards);
    }

  private:
    /// Combines the own value, then the children's values in the order of their ranges.
    void combine(const plan::Block& target) {
        const std::vector<Rank>& children = place_.children;
        std::vector<std::uint32_t> order(children.size());
        for (std::uint32_t child = 0; child < order.size(); ++child) {
            order[child] = child;
            writer_->wait(children[child], child);
        }
        std::ranges::sort(order, {},
                          [&](std::uint32_t child) { return own_.number_of(children[child]); });
        std::vector<plan::Block> operands{writer_.input(0)};
        for (const std::uint32_t child : order) operands.push_back(writer_.slot(child, 0));
        if (operands.size() == 1) {
            writer_->copy(target, operands.front());
        } else {
            writer_->reduce(target, operands);
        }
        for (const Rank child : children) writer_.give_credit(child, credit());
    }

    void give(Rank peer, std::uint32_t number, std::uint32_t credit, const plan::Block& value) {
        writer_.await_credit(peer, credit);
        writer_->put(peer, number, value);
    }

    void take_forwarded() {
        writer_->wait(own_.root, forwarded());
        writer_->flush();  // the own value, which may be in the output, has been sent
        writer_->copy(writer_.output(0), writer_.slot(forwarded(), 0));
        writer_.give_credit(own_.root, forwarded_credit());
    }

    void reserve(bool forwards) {
        for (std::uint32_t number = 0; number < place_.children_max; ++number)
            writer_->reserve_capacity(number, 1);
        writer_.reserve_credits(credit(), 1);
        if (!forwards) return;
        writer_->reserve_capacity(forwarded(), 1);
        writer_.reserve_credits(forwarded_credit(), 1);
    }

    [[nodiscard]] std::uint32_t credit() const { return place_.children_max; }
    [[nodiscard]] std::uint32_t forwarded() const { return place_.children_max + 1; }
    [[nodiscard]] std::uint32_t forwarded_credit() const { return place_.children_max + 2; }

    BlockWriter& writer_;
    Rank root_;                   ///< of the call
    patterns::RelativeRank own_;  ///< counted from the top of the tree
    patterns::TreePlace place_;
};

template <TreeOf kTree>
base::Result<plan::Program> generate_along(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const Tree tree = kTree(spec, request.size);
    if (!tree) return tree.failure();
    return program_by_blocks({.collective = "reduce", .blocks = 1}, spec, request,
                             [&](BlockWriter& writer, const GenerateRequest&) {
                                 TreeReduction(writer, *tree, request).write();
                             });
}

template <TreeOf kTree>
base::Result<plan::Program> generate_in_pieces(const AlgorithmSpec& spec,
                                               const GenerateRequest& request) {
    return generate_along<kTree>(spec, in_pieces(spec, request));
}

Algorithm entry(std::string_view name, std::string_view summary, std::string_view source,
                std::vector<Parameter> parameters, decltype(Algorithm::generate) generate) {
    return {.collective = "reduce",
            .name = name,
            .summary = summary,
            .source = source,
            .parameters = std::move(parameters),
            .properties = {.ordered = true, .bit_identical = true},
            .generate = generate};
}

}  // namespace

Algorithm reduce_kary() {
    return entry("kary", "every rank combines the results of k others with its own",
                 "Hoefler and Moor, section 3.1.2",
                 {{"k", "2", "children of a rank", "1,3,5"}, {"segments", "1", kSegmentsHelp, "3"}},
                 &generate_along<kary_tree>);
}

Algorithm reduce_binomial() {
    return entry("binomial", "the number of ranks that take part is halved each round",
                 "Hoefler and Moor, section 3.1.3", {{"segments", "1", kSegmentsHelp, "3"}},
                 &generate_along<binomial_tree>);
}

Algorithm reduce_knomial() {
    return entry("knomial", "the number of ranks that take part is divided by k each round",
                 "Hoefler and Moor, section 3.1.3",
                 {{"k", "4", "one of k ranks goes on each round", "2,3,7"},
                  {"segments", "1", kSegmentsHelp, "3"}},
                 &generate_along<knomial_tree>);
}

Algorithm reduce_logp_optimal() {
    return entry("logp-optimal", "along the tree that is fastest in the LogP model",
                 "Karp et al., Optimal broadcast and summation in the LogP model",
                 logp_parameters(), &generate_along<logp_tree>);
}

Algorithm reduce_chain() {
    return entry("chain", "each rank adds its value and passes the result on, piece by piece",
                 "Hoefler and Moor, section 3.1.4", {{"segments", "by size", kSegmentsHelp, "2,5"}},
                 &generate_in_pieces<chain_tree>);
}

Algorithm reduce_pipelined_binary() {
    return entry("pipelined-binary", "along a binary tree, piece by piece",
                 "Hoefler and Moor, section 3.1.4", {{"segments", "by size", kSegmentsHelp, "2,5"}},
                 &generate_in_pieces<binary_tree>);
}

}  // namespace weft::collectives
