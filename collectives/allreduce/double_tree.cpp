// SPDX-License-Identifier: BSD-3-Clause
// double_tree.cpp - allreduce up and down two binary trees at once, as a pipeline.
//
// Idea     Half of the vector is reduced along each of two trees, in which every rank is an inner
//          node at most once. The root sends each reduced piece back down. There are four lanes, up
//          and down in each tree, so that pieces go up while earlier ones come down.
// Source   Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction
//          and scan.
// Rounds   2 * ceil(log2 n) for one piece; the others follow at intervals of two puts. Messages: 4
//          * s * (n - 1) for s pieces of each half, and one credit for each but the last two of an
//          edge.
// Bytes    2 * (n - 1) vectors in all. Reduced: at most one vector by a rank.
// Memory   Three slots in each tree, two copies each; one scratch vector for partial results.
// Good for Long vectors on many ranks: fewer steps than a ring, with equal bytes. The default is
//          pieces of about 8 KiB.
// Holds    Every piece is reduced once and copied, so results are bit-identical. If n is even, the
//          second tree has rank 1 after all other ranks, so operations must commute.
#include "collectives/patterns/double_tree.hpp"

#include "collectives/entries.hpp"
#include "collectives/up_tree.hpp"

namespace weft::collectives {

namespace {

// Numbers of a tree: two for values from children, one for results, one for the parent's credit,
// and two for the credits of children.
constexpr std::uint32_t kUp = 0;
constexpr std::uint32_t kDown = 2;
constexpr std::uint32_t kUpCredit = 3;
constexpr std::uint32_t kDownCredits = 4;
constexpr std::uint32_t kNumbers = 6;

/// Steps of one rank in one tree, which handles one half of the vector.
class Course {
  public:
    Course(BlockWriter& writer, const patterns::InnerPlace& place, std::uint32_t tree)
        : writer_(writer), place_(place), half_(tree), first_(tree * kNumbers) {}

    void write() {
        UpTree up(writer_, place_, half_,
                  {.first_child = first_ + kUp, .credit = first_ + kUpCredit});
        const plan::Block output = writer_.output(half_);
        if (place_.parent < 0) {
            up.combine(output);
            return send_down(output);
        }
        const plan::Block partial = writer_.scratch(0, half_);
        up.combine(partial);
        up.send(partial);
        writer_.begin_lane();
        writer_->wait(place_.parent, first_ + kDown, plan::kShared);
        writer_->copy(output, writer_.slot(first_ + kDown, half_));
        writer_.give_credit(place_.parent, first_ + kDownCredits + place_.child_index);
        send_down(output);
    }

  private:
    void send_down(const plan::Block& output) {
        for (const std::uint32_t index : {0U, 1U})
            if (place_.children[index] >= 0)
                writer_.await_credit(place_.children[index], first_ + kDownCredits + index);
        for (const Rank child : place_.children)
            if (child >= 0) writer_->put(child, first_ + kDown, output, plan::kShared);
    }

    BlockWriter& writer_;
    const patterns::InnerPlace& place_;
    std::uint32_t half_;
    std::uint32_t first_;
};

void write(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::DoubleTree trees(request.size);
    for (const std::uint32_t tree : {0U, 1U}) {
        if (tree > 0) writer.begin_lane();
        const patterns::InnerPlace place = trees.place(static_cast<int>(tree), request.rank);
        Course(writer, place, tree).write();
    }
    for (std::uint32_t number = 0; number < 2 * kNumbers && request.size > 1; ++number)
        writer->reserve_capacity(number, number % kNumbers <= kDown ? 1 : 0);
}

base::Result<plan::Program> generate_double_tree(const AlgorithmSpec& spec,
                                                 const GenerateRequest& request) {
    return program_by_blocks(
        {.collective = "allreduce", .blocks = 2, .cut = Cut::blocks, .synchronizing = true}, spec,
        in_pieces(spec, request), write);
}

}  // namespace

Algorithm allreduce_double_tree() {
    return {
        .collective = "allreduce",
        .name = "double-tree",
        .summary = "half of the vector up and down each of two binary trees, piece by piece",
        .source = "Sanders, Speck and Traeff, section 4",
        .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                        "2,5"}},
        .properties = {.bit_identical = true, .synchronizing = true, .two_trees = true},
        .generate = &generate_double_tree,
    };
}

}  // namespace weft::collectives
