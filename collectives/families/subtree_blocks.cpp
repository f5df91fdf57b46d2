// SPDX-License-Identifier: BSD-3-Clause
// subtree_blocks.cpp - gather, scatter and allgather along a tree: binomial, k-ary, chain,
// pipelined binary, or the optimal one under LogGP.
//
// Idea     A rank holds the blocks of its subtree, a range of ranks counted from the root. It
//          exchanges them with its parent in one message. allgather: rank 0 gathers all blocks and
//          sends them down the same tree (`gather-broadcast`). loggp-optimal: a rank with the
//          blocks of n ranks first sends the blocks of m of these ranks to one of the m, with the m
//          for which both ranks end as early as possible.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, sections 3.1.2 to 3.1.4 and
//          3.3. loggp-optimal: Alexandrov et al., LogGP, section 4; Iannello, Efficient algorithms
//          for the reduce-scatter operation in LogGP.
// Rounds   The depth of the tree, for the allgather twice that; binomial: the largest number of
//          bits set in a number below n. Messages: n - 1, for the allgather 2 (n - 1).
// Bytes    In total, a block for each rank and each of its ancestors; binomial: a block for each
//          bit set in the numbers below n. The allgather adds n (n - 1) blocks.
// Memory   gather: slots for n - 1 blocks at the root. scatter: one slot for the largest subtree.
//          Inner nodes have one scratch buffer. With segments, two copies of each slot, and
//          credits. allgather: slots for 2n - 1 blocks.
// Good for Short blocks, any n and root. kary, chain: few descriptors on each rank. chain,
//          pipelined-binary: the default is pieces of about 8 KiB for all blocks together.
// Holds    A gather has a number for each child's data and one for all credits, a scatter the
//          reverse. The allgather needs no credits: a child sends the next segment after the result
//          of the previous one. Children are numbered from the last one to the first: in a binomial
//          tree, the number then limits the subtree. Larger subtrees are served first.
#include <array>
#include <ranges>

#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/generate/named_trees.hpp"
#include "collectives/nodes/groups.hpp"

namespace weft::collectives {

namespace {

/// Steps of one rank. The index of a child is the number of its later siblings.
class SubtreeBlocks {
  public:
    SubtreeBlocks(BlockWriter& writer, const patterns::RangeTree& tree,
                  const GenerateRequest& request)
        : writer_(writer),
          own_{request.rank, request.size, std::max(request.root, 0)},
          node_(patterns::find_node(tree, own_.size, own_.number())),
          largest_(tree.largest),
          children_max_(tree.children_max) {
        if (largest_.empty()) {
            for (const patterns::Branch& branch : tree.branches(own_.size))
                largest_.push_back(branch.size);
            std::ranges::reverse(largest_);
        }
        if (!is_root())
            own_index_ =
                as_u32(std::ssize(tree.branches(node_.parent_size))) - 1 - node_.child_index;
    }

    void gather() {
        const std::uint32_t credit = children_max_;
        const auto kept = [&](Rank number, Rank count) {
            return range(plan::Buffer::output, number, count);
        };
        const bool leaf = node_.branches.empty();
        if (is_root() || !leaf) writer_->copy(kept(own_.number(), 1), own_input());
        receive(kept, [&](Rank child) { writer_.give_credit(child, credit); });
        if (!is_root()) {
            writer_.await_credit(parent(), credit);
            writer_->put(parent(), own_index_,
                         leaf ? own_input() : kept(own_.number(), node_.size));
        }
        for (std::uint32_t index = 0; index < children_max_; ++index)
            writer_->reserve_capacity(index, largest(index));
        writer_.reserve_credits(credit, 1);
    }

    void allgather() {
        const std::uint32_t result = children_max_;
        const auto kept = [&](Rank number, Rank count) {
            return writer_.wrapped(writer_.output(block_of(number), as_u32(count)));
        };
        const plan::Block all = writer_.output(0, as_u32(own_.size));
        writer_->copy(kept(own_.number(), 1), own_input());
        receive(kept, [](Rank) {});
        if (!is_root()) {
            writer_->put(parent(), own_index_, kept(own_.number(), node_.size));
            writer_->wait(parent(), result, plan::kShared);
            writer_->flush();
            writer_->copy(all, writer_.slot(result, 0, as_u32(own_.size)));
        }
        for (const patterns::Branch& branch : node_.branches)
            writer_->put(child_of(branch), result, all, plan::kShared);
        if (own_.size == 1) return;
        for (std::uint32_t index = 0; index < children_max_; ++index)
            writer_->reserve_capacity(index, largest(index));
        writer_->reserve_capacity(result, as_u32(own_.size));
    }

    void scatter() {
        constexpr std::uint32_t kData = 0;
        constexpr std::uint32_t kCredit = 1;
        const auto kept = [&](Rank number, Rank count) {
            return range(plan::Buffer::input, number, count);
        };
        const std::vector<plan::Block> own_output{writer_.output(block_)};
        if (!is_root()) {
            const bool leaf = node_.size == 1;
            writer_->wait(parent(), kData);
            writer_->copy(leaf ? own_output : kept(own_.number(), node_.size),
                          arrived(kData, own_.number(), node_.size));
            writer_.give_credit(parent(), kCredit + own_index_);
        }
        if (is_root() || node_.size > 1) writer_->copy(own_output, kept(own_.number(), 1));
        auto index = as_u32(std::ssize(node_.branches));
        for (const patterns::Branch& branch : node_.branches) {
            writer_.await_credit(child_of(branch), kCredit + --index);
            writer_->put(child_of(branch), kData,
                         kept(own_.number() + branch.distance, branch.size));
        }
        for (index = 0; index < children_max_; ++index)
            writer_->reserve_capacity(kData, largest(index));
        writer_.reserve_credits(kCredit, children_max_);
    }

  private:
    [[nodiscard]] bool is_root() const { return node_.parent < 0; }
    [[nodiscard]] Rank parent() const { return own_.rank_of(node_.parent); }
    [[nodiscard]] Rank child_of(const patterns::Branch& branch) const {
        return own_.rank_of(own_.number() + branch.distance);
    }
    /// Returns the ranks of the largest subtree of a child with this index.
    [[nodiscard]] std::uint32_t largest(std::uint32_t index) const {
        return as_u32(largest_[index]);
    }
    /// Copies the blocks of all children out of their slots to kept(number, count), the smallest
    /// subtree first, because its blocks arrive first. Calls emptied(child) after each.
    template <class Kept, class Emptied>
    void receive(Kept kept, Emptied emptied) {
        std::uint32_t index = 0;
        for (const patterns::Branch& branch : std::views::reverse(node_.branches)) {
            const Rank number = own_.number() + branch.distance;
            writer_->wait(child_of(branch), index);
            writer_->copy(kept(number, branch.size), arrived(index++, number, branch.size));
            emptied(child_of(branch));
        }
    }
    [[nodiscard]] std::vector<plan::Block> own_input() const { return {writer_.input(block_)}; }
    [[nodiscard]] std::uint32_t block_of(Rank number) const { return as_u32(own_.rank_of(number)); }
    /// Returns the blocks of consecutive numbers, in the root's own buffer or in scratch.
    [[nodiscard]] std::vector<plan::Block> range(plan::Buffer at_root, Rank number,
                                                 Rank count) const {
        const std::uint32_t first = block_of(number);
        const auto blocks = as_u32(count);
        if (!is_root()) return writer_.wrapped(writer_.scratch(0, first, blocks));
        return writer_.wrapped(at_root == plan::Buffer::input ? writer_.input(first, blocks)
                                                              : writer_.output(first, blocks));
    }
    /// Returns the blocks of consecutive numbers in a slot.
    [[nodiscard]] std::vector<plan::Block> arrived(std::uint32_t slot, Rank number,
                                                   Rank count) const {
        return writer_.wrapped(writer_.slot(slot, block_of(number), as_u32(count)));
    }

    BlockWriter& writer_;
    patterns::RelativeRank own_;
    patterns::TreeNode node_;
    std::vector<Rank> largest_;                ///< largest subtree of a child by index
    std::uint32_t children_max_;               ///< largest number of children of a rank
    std::uint32_t block_ = as_u32(own_.rank);  ///< this rank's block
    std::uint32_t own_index_ = 0;
};

/// Returns the spec of loggp-optimal with the machine's costs, in thousandths of the largest cost.
/// The overhead is the parent's, so the latency includes the difference to the child's.
std::vector<std::string> loggp_variants(const CandidateRequest& request, bool gathers) {
    const std::int64_t parent = gathers ? request.receive_ps : request.issue_ps;
    const std::int64_t child = gathers ? request.issue_ps : request.receive_ps;
    const std::int64_t travel = request.latency_ps + child - parent;
    std::array costs{std::max<std::int64_t>(0, travel), parent, request.send_bytes_ps};
    const std::int64_t unit = std::max<std::int64_t>(1, std::ranges::max(costs) / 1000);
    for (std::int64_t& cost : costs) cost = (cost + unit / 2) / unit;
    return {
        fmt::format("loggp-optimal:latency={},overhead={},block={}", costs[0], costs[1], costs[2])};
}

Algorithm entry(std::string_view collective, std::string_view name) {
    static constexpr Parameter kLoggpParameters[] = {
        {"latency", "6", "time that a message travels, in any unit, as in 1.25", "1,50"},
        {"overhead", "2", "time that a message keeps either end busy", "0"},
        {"block", "1", "time for the bytes of a block", "0,0.1,9"},
        kTriedSegments};
    static constexpr TreeEntry kTrees[] = {
        {"binomial", binomial_tree, "blocks of subtrees of doubling size in one message",
         "Hoefler and Moor, section 3.1.3", kTreeSegments},
        {"kary", kary_tree, "every rank passes on the blocks of k subtrees",
         "Hoefler and Moor, section 3.1.2", kKaryParameters},
        {"chain", chain_tree, "each rank passes on the blocks of all later ranks, piece by piece",
         "Hoefler and Moor, section 3.1.4", kTreePieces},
        {"pipelined-binary", binary_tree, "blocks of subtrees along a binary tree, piece by piece",
         "Hoefler and Moor, section 3.1.4", kTreePieces},
        {"loggp-optimal", scatter_tree, "along the tree that is fastest in the LogGP model",
         "Alexandrov et al., LogGP; Iannello", kLoggpParameters},
    };
    const TreeEntry& found = *std::ranges::find(kTrees, name, &TreeEntry::name);
    const BlockCall call{.in_pieces = found.in_pieces(), .one_stage = true};
    const bool optimal = name == "loggp-optimal";
    const bool gathers = collective == "gather";
    const TreeOf tree_of = optimal && gathers ? TreeOf{gather_tree} : found.tree;
    Algorithm algorithm = found.algorithm(collective);
    algorithm.generate = [=](const GenerateRequest& request) -> base::Result<plan::Program> {
        KnownShapes own;
        auto& tree = (request.known_shapes ? request.known_shapes : &own)->tree;
        if (!tree) tree = WEFT_TRY(tree_of(*request.spec, request.size));
        return program_by_blocks(call, request,
                                 [&](BlockWriter& writer, const GenerateRequest& cut) {
                                     SubtreeBlocks blocks(writer, *tree, cut);
                                     gathers ? blocks.gather() : blocks.scatter();
                                 });
    };
    if (optimal)
        algorithm.variants = [gathers](const CandidateRequest& request) {
            return loggp_variants(request, gathers);
        };
    return algorithm;
}

void write_allgather(BlockWriter& writer, const GenerateRequest& request,
                     const patterns::RangeTree& tree) {
    SubtreeBlocks(writer, tree, request).allgather();
}

}  // namespace

Algorithm gather_tree(std::string_view name) {
    return entry("gather", name);
}
Algorithm scatter_tree(std::string_view name) {
    return entry("scatter", name);
}
Algorithm allgather_gather_broadcast() {
    return {.collective = "allgather",
            .name = "gather-broadcast",
            .summary = "blocks go up a tree, all of them come down",
            .source = "Hoefler and Moor, section 3.3",
            .parameters = {kTreeParameter, kTriedSegments},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = by_blocks({.depth = 1}, tree_parameter, write_allgather)};
}

}  // namespace weft::collectives
