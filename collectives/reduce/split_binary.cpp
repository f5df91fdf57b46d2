// SPDX-License-Identifier: BSD-3-Clause
// split_binary.cpp - reduce with one half of each piece up each side of a binary tree.
//
// Idea     The reverse of broadcast/split_binary.cpp. First each rank exchanges with its
//          counterpart on the other side: it sends the half of the other side, and combines the
//          half of its own side. Then the first half goes up the left subtree, and the second half
//          up the right subtree. If the number of ranks is even, the last rank on the left has no
//          counterpart and puts the second half to the root.
// Source   Pjesivac-Grbovic et al., Performance analysis of MPI collective operations; Hoefler and
//          Moor, section 3.1.2 (SB), reversed.
// Rounds   ceil(log2(n + 1)) for one piece: one more than the depth of the tree, except for 2 and 4
//          ranks. Messages: 2 * s * (n - 1) for s pieces in halves. Each one up the tree or to the
//          root has a credit, except the last two.
// Bytes    Every rank but the root sends one vector. A rank reduces at most 3 halves.
// Memory   Three slots; with segments two copies each and two credits. A scratch vector on all
//          ranks but the root.
// Good for Vectors of medium size: the time of half a vector up a binary tree, and one exchange.
//          The default is pieces of about 8 KiB.
// Holds    Not synchronizing. Counterparts are combined first, so operations must commute.
#include "collectives/blocks.hpp"
#include "collectives/entries.hpp"
#include "collectives/patterns/split_tree.hpp"

namespace weft::collectives {

namespace {

// Numbers: data of two children, the counterpart's half, and credits. The parent gives a credit,
// and the root gives one for the half from a rank without a counterpart.
constexpr std::uint32_t kOther = 2;
constexpr std::uint32_t kCredit = 3;
constexpr std::uint32_t kOtherCredit = 4;

/// Operands of a half: the own value, then received data.
class Operands {
  public:
    Operands(BlockWriter& writer, std::uint32_t half)
        : writer_(writer), half_(half), list_{writer.input(half)} {}

    void receive(Rank peer, std::uint32_t number) {
        writer_->wait(peer, number);
        list_.push_back(writer_.slot(number, half_));
    }
    void combine(const plan::Block& target) {
        if (list_.size() > 1) return writer_->reduce(target, list_);
        writer_->copy(target, list_.front());
    }
    [[nodiscard]] bool alone() const { return list_.size() == 1; }

  private:
    BlockWriter& writer_;
    std::uint32_t half_;
    std::vector<plan::Block> list_;
};

void write_root(BlockWriter& writer, const patterns::SplitPlace& place) {
    const std::vector<Rank>& children = place.tree.children;
    for (const std::uint32_t half : {0U, 1U}) {
        Operands operands(writer, half);
        if (half < children.size()) operands.receive(children[half], half);
        const bool single = half == 1 && place.has_single();
        if (single) operands.receive(place.single(), kOther);
        operands.combine(writer.output(half));
        if (half < children.size()) writer.give_credit(children[half], kCredit);
        if (single) writer.give_credit(place.single(), kOtherCredit);
    }
}

void write_inner(BlockWriter& writer, const patterns::SplitPlace& place) {
    if (!place.has_counterpart()) writer.await_credit(place.relative.root, kOtherCredit);
    writer->put(place.counterpart(), kOther, writer.input(1 - place.half()));
    Operands operands(writer, place.half());
    if (place.has_counterpart()) operands.receive(place.counterpart(), kOther);
    for (std::uint32_t child = 0; child < place.tree.children.size(); ++child)
        operands.receive(place.tree.children[child], child);
    const plan::Block partial =
        operands.alone() ? writer.input(place.half()) : writer.scratch(0, place.half());
    if (!operands.alone()) operands.combine(partial);
    for (const Rank child : place.tree.children) writer.give_credit(child, kCredit);
    writer.await_credit(place.tree.parent, kCredit);
    writer->put(place.tree.parent, place.tree.child_index, partial);
}

void write(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::SplitPlace place({request.rank, request.size, request.root});
    if (place.is_root()) {
        write_root(writer, place);
    } else {
        write_inner(writer, place);
    }
    if (request.size == 1) return;
    for (std::uint32_t number = 0; number <= kOther; ++number) writer->reserve_capacity(number, 1);
    writer.reserve_credits(kCredit, 2);
}

base::Result<plan::Program> generate_split_binary(const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    return program_by_blocks({.collective = "reduce", .blocks = 2}, spec, in_pieces(spec, request),
                             write);
}

}  // namespace

Algorithm reduce_split_binary() {
    return {
        .collective = "reduce",
        .name = "split-binary",
        .summary = "counterparts exchange halves, then one half goes up each side of a binary tree",
        .source = "Pjesivac-Grbovic et al.; Hoefler and Moor, section 3.1.2",
        .parameters = {{"segments", "by size", "pieces that follow each other, each in halves",
                        "2,5"}},
        .properties = {.bit_identical = true, .two_trees = true},
        .generate = &generate_split_binary,
    };
}

}  // namespace weft::collectives
