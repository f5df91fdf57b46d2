// SPDX-License-Identifier: BSD-3-Clause
// split_binary.cpp - broadcast and reduce with one half of the buffer on each side of a binary
// tree.
//
// Idea     broadcast: the root sends the first half down its left subtree and the second half down
//          its right subtree. Then each rank exchanges its half with its counterpart on the other
//          side. A rank forwards its half in one lane, and receives the other half in another.
//          reduce: the reverse. First each rank sends its counterpart the half of the other side,
//          and combines the half of its own side. Then the halves go up the two subtrees.
//          If the number of ranks is even, the last rank on the left has no counterpart. It
//          exchanges the second half with the root.
// Source   Pjesivac-Grbovic et al., Performance analysis of MPI collective operations; Hoefler and
//          Moor, section 3.1.2.
// Rounds   ceil(log2(n + 1)) for one piece: one more than the depth of the tree, unless
//          counterparts differ in depth (reduce: except for 2 and 4 ranks). Messages: 2 s (n - 1)
//          for s pieces of each half. In a reduce each message up the tree or to the root has a
//          credit, except the last two.
// Bytes    (n - 1) buffers in all: half a buffer along each edge of the tree, and half a buffer
//          between the sides for each rank. A rank sends (or reduces) at most 3 halves.
// Memory   broadcast: two slots; with segments two copies each and three credits. reduce: three
//          slots; with segments two copies each and two credits; a scratch buffer on all ranks but
//          the root.
// Good for Buffers of medium size: the time of half a buffer along a binary tree, and one exchange.
//          The default is pieces of about 8 KiB.
// Holds    Counterparts are combined first, so a reduction is for operations that commute.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

namespace {

/// Position in a binary tree with two sides. Numbers are counted from the root. Numbers 1 .. left
/// are the left side, a subtree of the root; larger numbers are the right side. Number v on the
/// left and v + left are counterparts. All numbers on the right have a counterpart.
struct SplitPlace {
    explicit SplitPlace(const GenerateRequest& request)
        : relative{request.rank, request.size, request.root},
          own(relative.number()),
          left(request.size / 2),
          tree(patterns::place_in(patterns::kary_tree(request.size, 2), relative)) {}

    patterns::RelativeRank relative;
    Rank own;                  ///< this rank's number
    Rank left;                 ///< ranks on the left side
    patterns::TreePlace tree;  ///< the root's first child is the top of the left side

    [[nodiscard]] bool is_root() const { return own == 0; }
    /// Returns the half of this rank's side: 0 (left) or 1 (right).
    [[nodiscard]] std::uint32_t half() const { return own <= left ? 0 : 1; }
    [[nodiscard]] bool has_counterpart() const { return own > left || own + left < relative.size; }
    /// Returns the counterpart, or the root if this rank has no counterpart.
    [[nodiscard]] Rank counterpart() const {
        if (!has_counterpart()) return relative.root;
        return relative.rank_of(own > left ? own - left : own + left);
    }
    /// Returns true if a rank, single(), has no counterpart. The root replaces its counterpart.
    [[nodiscard]] bool has_single() const { return relative.size % 2 == 0; }
    [[nodiscard]] Rank single() const { return relative.rank_of(left); }
};

class SplitBroadcast {
  public:
    SplitBroadcast(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer), place_(request) {}

    void write() {
        if (place_.is_root()) {
            write_root();
        } else {
            write_inner();
            writer_.begin_lane();
            receive(place_.counterpart(), kOther, kOtherCredit, 1 - place_.half());
        }
        if (place_.relative.size == 1) return;
        writer_->reserve_capacities(0, kOther + 1, 1);
        writer_.reserve_credits(kCredit, 3);
    }

  private:
    // Numbers: data of the own half, data of the other half, credits of two children, and the
    // credit of the rank that receives its other half from this rank.
    static constexpr std::uint32_t kOwn = 0;
    static constexpr std::uint32_t kOther = 1;
    static constexpr std::uint32_t kCredit = 2;
    static constexpr std::uint32_t kOtherCredit = 4;

    void write_root() {
        for (const std::uint32_t half : {0U, 1U})
            writer_->copy(writer_.output(half), writer_.input(half));
        for (std::uint32_t child = 0; child < place_.tree.children.size(); ++child)
            send(place_.tree.children[child], kOwn, kCredit + child, child);
        if (place_.has_single()) send(place_.single(), kOther, kOtherCredit, 1);
    }

    void write_inner() {
        const std::uint32_t half = place_.half();
        receive(place_.tree.parent, kOwn, kCredit + place_.tree.child_index, half);
        for (std::uint32_t child = 0; child < place_.tree.children.size(); ++child)
            send(place_.tree.children[child], kOwn, kCredit + child, half);
        if (place_.has_counterpart()) send(place_.counterpart(), kOther, kOtherCredit, half);
    }

    void send(Rank peer, std::uint32_t number, std::uint32_t credit, std::uint32_t half) {
        writer_.await_credit(peer, credit);
        writer_->put(peer, number, writer_.output(half));
    }
    void receive(Rank peer, std::uint32_t number, std::uint32_t credit, std::uint32_t half) {
        writer_->wait(peer, number);
        writer_->copy(writer_.output(half), writer_.slot(number, half));
        writer_.give_credit(peer, credit);
    }

    BlockWriter& writer_;
    SplitPlace place_;
};

class SplitReduction {
  public:
    SplitReduction(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer), place_(request) {}

    void write() {
        if (place_.is_root())
            write_root();
        else
            write_inner();
        if (place_.relative.size == 1) return;
        writer_->reserve_capacities(0, kOther + 1, 1);
        writer_.reserve_credits(kCredit, 2);
    }

  private:
    // Numbers: data of two children (0 and 1), the counterpart's half, the parent's credit, and the
    // root's credit for single().
    static constexpr std::uint32_t kOther = 2;
    static constexpr std::uint32_t kCredit = 3;
    static constexpr std::uint32_t kOtherCredit = 4;

    void write_root() {
        const std::vector<Rank>& children = place_.tree.children;
        for (const std::uint32_t half : {0U, 1U}) {
            std::vector<plan::Block> operands{writer_.input(half)};
            if (half < children.size()) operands.push_back(receive(children[half], half, half));
            const bool single = half == 1 && place_.has_single();
            if (single) operands.push_back(receive(place_.single(), kOther, half));
            writer_.combine(writer_.output(half), operands);
            if (half < children.size()) writer_.give_credit(children[half], kCredit);
            if (single) writer_.give_credit(place_.single(), kOtherCredit);
        }
    }

    void write_inner() {
        const std::uint32_t half = place_.half();
        const std::vector<Rank>& children = place_.tree.children;
        if (!place_.has_counterpart()) writer_.await_credit(place_.relative.root, kOtherCredit);
        writer_->put(place_.counterpart(), kOther, writer_.input(1 - half));
        std::vector<plan::Block> operands{writer_.input(half)};
        if (place_.has_counterpart())
            operands.push_back(receive(place_.counterpart(), kOther, half));
        for (std::uint32_t child = 0; child < children.size(); ++child)
            operands.push_back(receive(children[child], child, half));
        const bool one_operand = operands.size() == 1;
        const plan::Block partial = one_operand ? operands.front() : writer_.scratch(0, half);
        if (!one_operand) writer_->reduce(partial, operands);
        for (const Rank child : children) writer_.give_credit(child, kCredit);
        writer_.await_credit(place_.tree.parent, kCredit);
        writer_->put(place_.tree.parent, place_.tree.child_index, partial);
    }

    plan::Block receive(Rank peer, std::uint32_t number, std::uint32_t half) {
        writer_->wait(peer, number);
        return writer_.slot(number, half);
    }

    BlockWriter& writer_;
    SplitPlace place_;
};

template <class Writer>
void write(BlockWriter& writer, const GenerateRequest& request) {
    Writer(writer, request).write();
}

}  // namespace

Algorithm split_binary(std::string_view collective) {
    Algorithm algorithm{
        .collective = collective,
        .name = "split-binary",
        .source = "Pjesivac-Grbovic et al.; Hoefler and Moor, section 3.1.2",
        .properties = {.bit_identical = true, .two_trees = true},
    };
    Parameter segments = kSegmentsBySize;
    if (collective == "reduce") {
        algorithm.summary =
            "counterparts exchange halves, then one half goes up each side of a binary tree";
        segments.help = "pieces that follow each other, each in halves";
        algorithm.generate = by_blocks({.blocks = 2, .in_pieces = true}, write<SplitReduction>);
    } else {
        algorithm.summary =
            "half of the buffer down each side of a binary tree, then counterparts exchange";
        segments.help = "pieces of each half that follow each other";
        algorithm.properties.ordered = true;
        algorithm.generate =
            by_blocks({.blocks = 2, .cut = Cut::blocks, .in_pieces = true}, write<SplitBroadcast>);
    }
    algorithm.parameters = {segments};
    return algorithm;
}

}  // namespace weft::collectives
