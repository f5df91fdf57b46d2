// SPDX-License-Identifier: BSD-3-Clause
// double_tree.cpp - broadcast, reduce and allreduce along two binary trees at once, as a pipeline.
//
// Idea     Half of the buffer goes along each of two trees. Every rank is an inner node of at most
//          one of them, so all ranks send. A rank has a lane for each tree and direction: it
//          forwards in one while it waits in another. In an allreduce the root sends each reduced
//          piece back down, so pieces go up while earlier ones come down.
// Source   Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction
//          and scan; Hoefler and Moor, section 3.1.5.
// Rounds   ceil(log2 n) for the first piece, twice that for an allreduce; each further piece takes
//          the time of two puts more. Messages: 2 s (n - 1) for s pieces of each half (4 s (n - 1)
//          for an allreduce), and a credit for each but the last two messages of an edge
//          (broadcast: of a tree).
// Bytes    broadcast: the root sends one buffer, every other rank at most one. reduce: every rank
//          but the root sends one buffer; no rank reduces more than one. allreduce: 2 (n - 1)
//          buffers in all; no rank reduces more than one.
// Memory   Slots of each tree: one to broadcast, two to reduce, three for an allreduce, with two
//          copies each, for any number of pieces. One scratch buffer for partial results (in a
//          reduce only on ranks with children).
// Good for Long buffers on many ranks: the time of half a buffer along a binary tree, and the links
//          of all ranks are used. Fewer steps than a ring. The default is pieces of about 8 KiB.
// Holds    Only the allreduce is synchronizing. Every piece is reduced once and copied, so results
//          are bit-identical. Numbers are counted from the root, and the second tree may have
//          number 1 after all others, so reductions are for operations that commute.
#include "collectives/patterns/double_tree.hpp"

#include "collectives/entries.hpp"
#include "collectives/generate/tree.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kChildren = 2;  ///< largest number of a rank's children in a tree

/// Steps of one rank in the reduction of a block up a tree. A rank combines the partial results of
/// its children with its own value in the order of numbers.
class UpTree {
  public:
    struct Numbers {
        std::uint32_t first_child = 0;  ///< number of the first child's values; the second is next
        std::uint32_t credit = 0;       ///< number of the parent's credits
    };

    UpTree(BlockWriter& writer, const patterns::InnerPlace& place, std::uint32_t block,
           Numbers numbers)
        : writer_(writer), place_(place), block_(block), numbers_(numbers) {}

    void combine(const plan::Block& target) {
        std::vector<plan::Block> operands;
        for (const std::uint32_t index : {0U, 1U})
            if (is_before(index)) receive(index, operands);
        operands.push_back(writer_.input(block_));
        for (const std::uint32_t index : {0U, 1U})
            if (!is_before(index)) receive(index, operands);
        writer_.combine(target, operands);
        for (const Rank child : place_.children)
            if (child >= 0) writer_.give_credit(child, numbers_.credit);
    }
    void send(const plan::Block& value) {
        writer_.await_credit(place_.parent, numbers_.credit);
        writer_->put(place_.parent, numbers_.first_child + place_.child_index, value);
    }

  private:
    [[nodiscard]] bool is_before(std::uint32_t index) const {
        return place_.before == static_cast<int>(index);
    }
    void receive(std::uint32_t index, std::vector<plan::Block>& operands) {
        const Rank child = place_.children[index];
        if (child < 0) return;
        writer_->wait(child, numbers_.first_child + index);
        operands.push_back(writer_.slot(numbers_.first_child + index, block_));
    }

    BlockWriter& writer_;
    const patterns::InnerPlace& place_;
    std::uint32_t block_;
    Numbers numbers_;
};

/// Returns the neighbors for a broadcast down the tree.
patterns::TreePlace downwards(const patterns::InnerPlace& inner) {
    patterns::TreePlace place{
        .parent = inner.parent, .child_index = inner.child_index, .children_max = kChildren};
    for (const Rank child : inner.children)
        if (child >= 0) place.children.push_back(child);
    return place;
}

/// Calls write(position, tree) for both trees; each tree has its own lane.
template <class Write>
void write_trees(BlockWriter& writer, patterns::RelativeRank own, Write write) {
    const patterns::DoubleTree trees(own.size);
    write(trees.place(0, own), 0U);
    writer.begin_lane();
    write(trees.place(1, own), 1U);
}

void write_broadcast(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kNumbers = 1 + kChildren;  // data, and a credit from each child
    write_trees(writer, {request.rank, request.size, request.root},
                [&](const patterns::InnerPlace& place, std::uint32_t tree) {
                    const std::uint32_t data = tree * kNumbers;
                    write_tree(writer, downwards(place), {tree, data, data + 1});
                });
    if (request.size == 1) return;
    writer->reserve_capacity(0, 1);
    writer->reserve_capacity(kNumbers, 1);
    writer->reserve_slots(2 * kNumbers);
}

void write_reduce(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kCredits = 2 * kChildren;
    write_trees(writer, {request.rank, request.size, request.root},
                [&](const patterns::InnerPlace& place, std::uint32_t tree) {
                    UpTree up(writer, place, tree,
                              {.first_child = tree * kChildren, .credit = kCredits + tree});
                    if (place.parent < 0) return up.combine(writer.output(tree));
                    const bool leaf = place.children[0] < 0;
                    const plan::Block partial = leaf ? writer.input(tree) : writer.scratch(0, tree);
                    if (!leaf) up.combine(partial);
                    up.send(partial);
                });
    if (request.size == 1) return;
    writer->reserve_capacities(0, kCredits, 1);
    writer.reserve_credits(kCredits, 2);
}

void write_allreduce(BlockWriter& writer, const GenerateRequest& request) {
    // Numbers of a tree: two for values from children, one for results, one for the parent's
    // credit, and two for the credits of children.
    constexpr std::uint32_t kDown = kChildren;
    constexpr std::uint32_t kUpCredit = kDown + 1;
    constexpr std::uint32_t kDownCredits = kUpCredit + 1;
    constexpr std::uint32_t kNumbers = kDownCredits + kChildren;
    write_trees(writer, {request.rank, request.size, 0},
                [&](const patterns::InnerPlace& place, std::uint32_t tree) {
                    const std::uint32_t first = tree * kNumbers;
                    const TreeData down{tree, first + kDown, first + kDownCredits};
                    UpTree up(writer, place, tree,
                              {.first_child = first, .credit = first + kUpCredit});
                    if (place.parent < 0) {
                        up.combine(writer.output(tree));
                        return send_down(writer, downwards(place), down);
                    }
                    up.combine(writer.scratch(0, tree));
                    up.send(writer.scratch(0, tree));
                    writer.begin_lane();
                    write_tree(writer, downwards(place), down);
                });
    for (std::uint32_t number = 0; number < 2 * kNumbers && request.size > 1; ++number)
        writer->reserve_capacity(number, number % kNumbers <= kDown ? 1 : 0);
}

Algorithm entry(std::string_view collective, std::string_view summary, std::string_view source,
                Properties properties, void (*write)(BlockWriter&, const GenerateRequest&)) {
    properties.two_trees = true;
    return {.collective = collective,
            .name = "double-tree",
            .summary = summary,
            .source = source,
            .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                            "2,5"}},
            .properties = properties,
            .generate = by_blocks({.collective = collective,
                                   .blocks = 2,
                                   .cut = Cut::blocks,
                                   .synchronizing = properties.synchronizing,
                                   .in_pieces = true},
                                  write)};
}

}  // namespace

Algorithm broadcast_double_tree() {
    return entry("broadcast", "half of the buffer along each of two binary trees, piece by piece",
                 "Sanders, Speck and Traeff; Hoefler and Moor, section 3.1.5",
                 {.ordered = true, .bit_identical = true}, write_broadcast);
}
Algorithm reduce_double_tree() {
    return entry("reduce", "half of the buffer up each of two binary trees, piece by piece",
                 "Sanders, Speck and Traeff, section 4", {.bit_identical = true}, write_reduce);
}
Algorithm allreduce_double_tree() {
    return entry("allreduce",
                 "half of the buffer up and down each of two binary trees, piece by piece",
                 "Sanders, Speck and Traeff, section 4",
                 {.bit_identical = true, .synchronizing = true}, write_allreduce);
}

}  // namespace weft::collectives
