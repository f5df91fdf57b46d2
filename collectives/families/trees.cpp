// SPDX-License-Identifier: BSD-3-Clause
// trees.cpp - broadcast and reduce along a tree: flat, k-ary, k-nomial, or optimal in LogP.
//
// Idea     broadcast: a rank that receives the buffer forwards it to its children. reduce: a rank
//          combines its children's partial results after its own value, in the order of their
//          ranges, and puts the result to its parent. The algorithms differ in the tree, and in the
//          default number of pieces; with pieces the steps are a loop.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1; Rabenseifner,
//          Optimization of collective reduction operations, section 3.3; Karp, Sahay, Santos and
//          Schauser, Optimal broadcast and summation in the LogP model.
// Rounds   For one piece the depth of the tree; s pieces overlap. Messages: s (n - 1). In a
//          pipeline, each child has a credit for every piece but the last two.
//            flat              1; all messages from the root
//            kary              ceil(log_k((k-1)n + 1)) - 1; k = 1: the chain, k = n - 1: flat
//            chain             n - 1
//            pipelined-binary  as kary with k = 2
//            knomial           largest number of nonzero digits in base k of a number below n
//            binomial          as knomial with k = 2
//            logp-optimal      the least t with reach(t) >= n, where reach(t) = 1 for t < w =
//                              latency + 2 overhead, else reach(t - g) + reach(t - w). A sender
//                              starts a message every g = gap (or overhead, if longer).
// Bytes    broadcast: a rank sends one buffer to each child: kary at most k, knomial at most (k-1)
//          * ceil(log_k n). reduce: every rank but the root sends one buffer, and reduces one for
//          each of its children.
// Memory   broadcast: one slot; in a pipeline two copies of it and a credit for each child. reduce:
//          a slot for each possible child; in a pipeline two copies each and a credit. A scratch
//          buffer on ranks with children.
// Good for flat: few ranks, or ranks of one node, since the root publishes once and all read in
//          place. kary: large n, if descriptors or the sender's (receiver's) time matter. knomial:
//          short buffers, if a put costs 1/k of its latency. logp-optimal: short buffers on a
//          network with known costs. chain, pipelined-binary: long buffers; the default is pieces
//          of about 8 KiB.
// Holds    The time to generate a program depends on the rank's children only. Reductions are in
//          rank order if the root is rank 0. If the operation does not commute, rank 0 is the top
//          of the tree for any root, and puts the result to the root. In a reduction the number of
//          a child's data is its index among its siblings. The next numbers are the parent's
//          credit, the result forwarded to the root, and the root's credit for it.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/generate/named_trees.hpp"
#include "collectives/generate/tree.hpp"

namespace weft::collectives {

namespace {

void write_broadcast(BlockWriter& writer, const patterns::RangeTree& tree,
                     const GenerateRequest& request, Delivery into) {
    const auto place = patterns::place_in(tree, {request.rank, request.size, request.root});
    if (into == Delivery::direct) return write_tree_directly(writer, place);
    write_tree(writer, place, {});
    if (request.size == 1) return;
    writer->reserve_slots(1);
    writer->reserve_slot_units(1);
    if (writer.pipelined()) writer->reserve_capacity(0, 1);  // credits need no capacity
    writer.reserve_credits(1, place.children_max);
}

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
            send(place_.parent, place_.child_index, credit(), partial);
        } else if (forwards) {
            combine(writer_.scratch(0, 0));
            send(root_, forwarded(), forwarded_credit(), writer_.scratch(0, 0));
        } else {
            combine(writer_.output(0));
        }
        if (forwards && own_.rank == root_) receive_forwarded();
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
        writer_.combine(target, operands);
        for (const Rank child : children) writer_.give_credit(child, credit());
    }

    void send(Rank peer, std::uint32_t number, std::uint32_t credit, const plan::Block& value) {
        writer_.await_credit(peer, credit);
        writer_->put(peer, number, value);
    }

    void receive_forwarded() {
        writer_->wait(own_.root, forwarded());
        writer_->flush();  // the own value, which may be in the output, has been sent
        writer_->copy(writer_.output(0), writer_.slot(forwarded(), 0));
        writer_.give_credit(own_.root, forwarded_credit());
    }

    void reserve(bool forwards) {
        writer_->reserve_capacities(0, place_.children_max, 1);
        writer_.reserve_credits(credit(), 1);
        if (!forwards) return;
        writer_->reserve_capacity(forwarded(), 1);
        writer_.reserve_credits(forwarded_credit(), 1);
    }

    [[nodiscard]] std::uint32_t credit() const { return place_.children_max; }
    [[nodiscard]] std::uint32_t forwarded() const { return place_.children_max + 1; }
    [[nodiscard]] std::uint32_t forwarded_credit() const { return place_.children_max + 2; }

    BlockWriter& writer_;
    Rank root_;                   ///< root of the call
    patterns::RelativeRank own_;  ///< its root is the top of the tree
    patterns::TreePlace place_;
};

/// Returns the spec of logp-optimal with the machine's costs, scaled so that the time from one
/// message of a parent to the next is kUnits.
std::vector<std::string> logp_variants(const CandidateRequest& request, bool reduces) {
    constexpr std::int64_t kUnits = 4;
    constexpr std::int64_t kLatencyMax = 1000;  // larger values give the same tree, but take longer
    const std::int64_t send = request.issue_ps + request.send_bytes_ps;
    const std::int64_t gap = std::max<std::int64_t>(1, reduces ? request.receive_ps : send);
    const std::int64_t travel = send + request.latency_ps + request.receive_ps;
    return {fmt::format("logp-optimal:latency={},overhead=0,gap={}",
                        std::clamp((travel * kUnits + gap / 2) / gap, kUnits, kLatencyMax),
                        kUnits)};
}

/// Returns the spec of the k-ary tree along which a reduction is fastest, unless that is binary. A
/// rank combines the buffers of its children after the last one has arrived.
std::vector<std::string> kary_variants(const CandidateRequest& request) {
    constexpr Rank kMost = 16;
    const auto time = [&](Rank k) {
        std::int64_t levels = 0;
        for (std::int64_t reached = 1, last = 1; reached < request.size; ++levels)
            reached += last *= k;
        return levels * (request.issue_ps + request.send_bytes_ps + request.latency_ps +
                         k * request.receive_ps);
    };
    Rank best = 2;
    for (Rank k = 3; k <= std::min(kMost, request.size - 1); ++k)
        if (time(k) < time(best)) best = k;
    if (best == 2) return {};
    return {fmt::format("kary:k={}", best)};
}

Algorithm entry(std::string_view collective, std::string_view name,
                std::span<const TreeEntry> trees) {
    const TreeEntry& found = *std::ranges::find(trees, name, &TreeEntry::name);
    Algorithm algorithm = found.algorithm(collective);
    const BlockCall call{.blocks = 1, .in_pieces = found.in_pieces(), .one_stage = true};
    const bool reduces = find_collective(collective)->reduces();
    if (name == "logp-optimal")
        algorithm.variants = [reduces](const CandidateRequest& request) {
            return logp_variants(request, reduces);
        };
    if (name == "kary" && reduces) algorithm.variants = &kary_variants;
    algorithm.generate =
        [=, tree_of = found.tree](const GenerateRequest& request) -> base::Result<plan::Program> {
        const patterns::RangeTree tree = WEFT_TRY(tree_of(*request.spec, request.size));
        return program_by_delivery(
            call, request, [&](BlockWriter& writer, const GenerateRequest& cut, Delivery into) {
                if (reduces)
                    TreeReduction(writer, tree, cut).write();
                else
                    write_broadcast(writer, tree, cut, into);
            });
    };
    return algorithm;
}

}  // namespace

Algorithm broadcast_tree(std::string_view name) {
    static constexpr Parameter kDirect[] = {kSegments, kIntoParameter};
    static constexpr Parameter kKnomial[] = {
        {"k", "4", "factor by which the ranks grow each round", "2,3,7"}, kTriedSegments};
    static constexpr TreeEntry kTrees[] = {
        {"flat", flat_tree, "the root puts the buffer to every other rank",
         "Hoefler and Moor, section 3.1", kDirect},
        {"kary", kary_tree, "every rank passes the buffer to k others",
         "Hoefler and Moor, section 3.1.2", kKaryParameters},
        {"binomial", binomial_tree, "the number of ranks that have the buffer doubles each round",
         "Hoefler and Moor, section 3.1", kDirect},
        {"knomial", knomial_tree,
         "the number of ranks that have the buffer grows k times each round",
         "Hoefler and Moor, section 3.1.3", kKnomial},
        {"logp-optimal", logp_tree,
         "along the tree that reaches all ranks soonest in the LogP model",
         "Karp et al., Optimal broadcast in the LogP model", kLogpParameters},
        {"chain", chain_tree, "each rank passes the buffer on to the next, piece by piece",
         "Hoefler and Moor, section 3.1.4", kTreePieces},
        {"pipelined-binary", binary_tree, "along a binary tree, piece by piece",
         "Hoefler and Moor, section 3.1.4", kTreePieces},
    };
    return entry("broadcast", name, kTrees);
}

Algorithm reduce_tree(std::string_view name) {
    static constexpr Parameter kKnomial[] = {
        {"k", "4", "divisor of the number of ranks each round", "2,3,7"}, kTriedSegments};
    static constexpr TreeEntry kTrees[] = {
        {"kary", kary_tree, "every rank combines the results of k others with its own",
         "Hoefler and Moor, section 3.1.2", kKaryParameters},
        {"binomial", binomial_tree, "the number of active ranks is halved each round",
         "Hoefler and Moor, section 3.1.3", kTreeSegments},
        {"knomial", knomial_tree, "the number of active ranks is divided by k each round",
         "Hoefler and Moor, section 3.1.3", kKnomial},
        {"logp-optimal", logp_tree, "along the tree that is fastest in the LogP model",
         "Karp et al., Optimal broadcast and summation in the LogP model", kLogpParameters},
        {"chain", chain_tree, "each rank adds its value and passes the result on, piece by piece",
         "Hoefler and Moor, section 3.1.4", kTreePieces},
        {"pipelined-binary", binary_tree, "along a binary tree, piece by piece",
         "Hoefler and Moor, section 3.1.4", kTreePieces},
    };
    return entry("reduce", name, kTrees);
}

}  // namespace weft::collectives
