// SPDX-License-Identifier: BSD-3-Clause
// split_binary.cpp - broadcast of one half of the vector down each side of a binary tree.
//
// Idea     The root sends the first half down its left subtree and the second half down its right
//          subtree. Then each rank exchanges its half with its counterpart on the other side. If
//          the number of ranks is even, the last rank on the left has no counterpart and gets the
//          second half from the root. There are two lanes: a rank forwards its half in one, and
//          receives the other half in the other.
// Source   Pjesivac-Grbovic et al., Performance analysis of MPI collective operations; Hoefler and
//          Moor, section 3.1.2 (SB).
// Rounds   ceil(log2(n + 1)) for one piece: one more than the depth of the tree, unless
//          counterparts differ in depth. Messages: 2 * s * (n - 1) for s pieces of each half.
// Bytes    Half a vector along each edge of the tree, and half a vector to each rank from the other
//          side: (n - 1) vectors in all. A rank sends at most 3 halves, the root at most 3.
// Memory   Two slots; with segments two copies each and three credits.
// Good for Vectors of medium size: the time of half a vector down a binary tree, and one exchange.
//          The default is pieces of about 8 KiB.
// Holds    Not synchronizing: the root never waits, except for credits.
#include "collectives/blocks.hpp"
#include "collectives/entries.hpp"
#include "collectives/patterns/split_tree.hpp"

namespace weft::collectives {

namespace {

// Numbers: data of the own half, data of the other half, and credits. Two children give credits,
// and one rank that receives the other half from this rank.
constexpr std::uint32_t kOwn = 0;
constexpr std::uint32_t kOther = 1;
constexpr std::uint32_t kCredit = 2;
constexpr std::uint32_t kOtherCredit = 4;

class SplitBinary {
  public:
    SplitBinary(BlockWriter& writer, const patterns::SplitPlace& place)
        : writer_(writer), place_(place) {}

    void write() {
        if (place_.is_root()) return write_root();
        write_inner();
        writer_.begin_lane();
        take(place_.counterpart(), kOther, kOtherCredit, 1 - place_.half());
    }

  private:
    void write_root() {
        for (const std::uint32_t half : {0U, 1U})
            writer_->copy(writer_.output(half), writer_.input(half));
        for (std::uint32_t child = 0; child < place_.tree.children.size(); ++child)
            give(place_.tree.children[child], kOwn, kCredit + child, child);
        if (place_.has_single()) give(place_.single(), kOther, kOtherCredit, 1);
    }

    void write_inner() {
        const std::uint32_t half = place_.half();
        take(place_.tree.parent, kOwn, kCredit + place_.tree.child_index, half);
        for (std::uint32_t child = 0; child < place_.tree.children.size(); ++child)
            give(place_.tree.children[child], kOwn, kCredit + child, half);
        if (place_.has_counterpart()) give(place_.counterpart(), kOther, kOtherCredit, half);
    }

    void give(Rank peer, std::uint32_t number, std::uint32_t credit, std::uint32_t half) {
        writer_.await_credit(peer, credit);
        writer_->put(peer, number, writer_.output(half));
    }
    void take(Rank peer, std::uint32_t number, std::uint32_t credit, std::uint32_t half) {
        writer_->wait(peer, number);
        writer_->copy(writer_.output(half), writer_.slot(number, half));
        writer_.give_credit(peer, credit);
    }

    BlockWriter& writer_;
    const patterns::SplitPlace& place_;
};

void write(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::SplitPlace place({request.rank, request.size, request.root});
    SplitBinary(writer, place).write();
    if (request.size == 1) return;
    writer->reserve_capacity(kOwn, 1);
    writer->reserve_capacity(kOther, 1);
    writer.reserve_credits(kCredit, 3);
}

base::Result<plan::Program> generate_split_binary(const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    return program_by_blocks({.collective = "broadcast", .blocks = 2, .cut = Cut::blocks}, spec,
                             in_pieces(spec, request), write);
}

}  // namespace

Algorithm broadcast_split_binary() {
    return {
        .collective = "broadcast",
        .name = "split-binary",
        .summary = "half of the vector down each side of a binary tree, then counterparts exchange",
        .source = "Pjesivac-Grbovic et al.; Hoefler and Moor, section 3.1.2",
        .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                        "2,5"}},
        .properties = {.ordered = true, .bit_identical = true, .two_trees = true},
        .generate = &generate_split_binary,
    };
}

}  // namespace weft::collectives
