// SPDX-License-Identifier: BSD-3-Clause
// binomial_blocks.cpp - `binomial`: gather and scatter along the binomial tree.
//
// Idea     A rank holds the blocks of its subtree, a range of ranks counted from the root. It
//          exchanges them with its parent in one message. Larger subtrees are first.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.3.
// Rounds   The largest number of bits set in a number below n: at most ceil(log2 n). Messages:
//          n - 1.
// Bytes    In total, as many blocks as there are bits set in all numbers below n.
// Memory   gather: slots for n - 1 blocks at the root. scatter: one slot for the largest
//          subtree. Inner nodes have one scratch vector. With segments, two copies of each
//          slot, and credits.
// Good for Short blocks, any n and root.
// Holds    Not synchronizing. In a gather each child has its own number for data, and all children
//          get credits by one number. In a scatter all children get data by one number, and each
//          has its own number for credits.
#include <bit>

#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

namespace {

/// Steps of one rank of the binomial tree. A child at distance 2^j has index j.
class SubtreeBlocks {
  public:
    SubtreeBlocks(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          own_{request.rank, request.size, request.root},
          node_(
              patterns::find_node(patterns::knomial_tree(own_.size, 2), own_.size, own_.number())),
          block_(as_u32(request.rank)),
          indices_(as_u32(std::bit_width(as_u32(request.size) - 1))) {}

    void gather() {
        const std::uint32_t credit = indices_;
        const auto kept = [&](Rank number, Rank count) {
            return range(plan::Buffer::output, number, count);
        };
        const bool leaf = node_.branches.empty();
        if (is_root() || !leaf) writer_->copy(kept(own_.number(), 1), own_input());
        for (const patterns::Branch& branch : node_.branches) {
            const Rank child = own_.number() + branch.distance;
            const std::uint32_t number = index_of(branch.distance);
            writer_->wait(own_.rank_of(child), number);
            writer_->copy(kept(child, branch.size), arrived(number, child, branch.size));
            writer_.give_credit(own_.rank_of(child), credit);
        }
        if (!is_root()) {
            writer_.await_credit(parent(), credit);
            writer_->put(parent(), own_index(),
                         leaf ? own_input() : kept(own_.number(), node_.size));
        }
        for (std::uint32_t index = 0; index < indices_; ++index)
            writer_->reserve_capacity(index, largest(index));
        writer_.reserve_credits(credit, 1);
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
            writer_.give_credit(parent(), kCredit + own_index());
        }
        if (is_root() || node_.size > 1) writer_->copy(own_output, kept(own_.number(), 1));
        for (const patterns::Branch& branch : node_.branches) {
            const Rank child = own_.number() + branch.distance;
            writer_.await_credit(own_.rank_of(child), kCredit + index_of(branch.distance));
            writer_->put(own_.rank_of(child), kData, kept(child, branch.size));
        }
        for (std::uint32_t index = 0; index < indices_; ++index)
            writer_->reserve_capacity(kData, largest(index));
        writer_.reserve_credits(kCredit, indices_);
    }

  private:
    [[nodiscard]] bool is_root() const { return node_.parent < 0; }
    [[nodiscard]] Rank parent() const { return own_.rank_of(node_.parent); }
    [[nodiscard]] std::uint32_t own_index() const { return index_of(own_.number() - node_.parent); }
    [[nodiscard]] static std::uint32_t index_of(Rank distance) {
        return as_u32(std::countr_zero(as_u32(distance)));
    }
    /// Returns the ranks of the largest subtree at distance 2^index.
    [[nodiscard]] std::uint32_t largest(std::uint32_t index) const {
        return std::min(1U << index, as_u32(own_.size) - (1U << index));
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
    std::uint32_t block_;    ///< this rank's block
    std::uint32_t indices_;  ///< number of different indices of children
};

void write_gather(BlockWriter& writer, const GenerateRequest& request) {
    SubtreeBlocks(writer, request).gather();
}
void write_scatter(BlockWriter& writer, const GenerateRequest& request) {
    SubtreeBlocks(writer, request).scatter();
}

Algorithm entry(std::string_view collective, std::string_view summary,
                void (*write)(BlockWriter&, const GenerateRequest&)) {
    return {.collective = collective,
            .name = "binomial",
            .summary = summary,
            .source = "Hoefler and Moor, section 3.1.3",
            .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
            .properties = {.ordered = true, .bit_identical = true},
            .generate = by_blocks({.collective = collective, .one_stage = true}, write)};
}

}  // namespace

Algorithm gather_binomial() {
    return entry("gather", "subtrees of doubling size hand on their blocks", write_gather);
}
Algorithm scatter_binomial() {
    return entry("scatter", "subtrees of halving size get their blocks", write_scatter);
}

}  // namespace weft::collectives
