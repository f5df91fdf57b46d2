// SPDX-License-Identifier: BSD-3-Clause
// scatter_allgather.cpp - broadcast by a scatter of blocks and an allgather around a ring.
//
// Idea     The root scatters the buffer along a binomial tree. Each rank then has the block of its
//          number and the blocks of its subtree. Then all blocks go around a ring. Numbers are
//          counted from the root.
// Source   Barnett et al. and van de Geijn, as in Thakur, Rabenseifner and Gropp, Optimization of
//          collective communication operations in MPICH, section 4.3.
// Rounds   n - 1, and the largest number of bits set in a number below n: at most ceil(log2 n).
//          Messages: n - 1 to scatter, and at most n (n - 1) around the ring. A rank that already
//          has a block gets a signal without data.
// Bytes    For a buffer of m bytes, each rank sends at most m (1 - 1/n) around the ring. The
//          scatter moves m/n times the number of bits set in all numbers below n, most of it from
//          the root. The ring moves the rest: together they move (n - 1) m.
// Memory   n - 1 slots of one block, one for the blocks of a subtree; no scratch. With into=vector
//          no slots.
// Good for Long buffers on few ranks: about 2m for each rank, for any n.
// Holds    Synchronizing: every block has passed all ranks of the ring.
#include "collectives/entries.hpp"
#include "collectives/generate/ring.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kScatter = 0;
constexpr std::uint32_t kFirstStep = 1;

/// Returns true if the block belongs to the subtree of `node`, which has number `number`.
bool is_in(const patterns::TreeNode& node, Rank number, std::uint32_t block) {
    const auto first = as_u32(number);
    return block >= first && block < first + as_u32(node.size);
}

/// Scatters down the tree. Numbers are counted from the root; block v belongs to number v. With
/// into=vector, children expose their blocks by numbers from `first_exposed` on.
void scatter(BlockWriter& writer, const patterns::RelativeRank& own, const patterns::TreeNode& node,
             Delivery into, std::uint32_t first_exposed) {
    const auto first = as_u32(own.number());
    const auto count = as_u32(node.size);
    const plan::Block kept = writer.output(first, count);
    if (own.number() == 0) {
        writer->copy(kept, writer.input(0, count));
    } else if (into == Delivery::direct) {
        const Rank parent = own.rank_of(node.parent);
        writer->expose(parent, first_exposed + node.child_index, kept, plan::kWritten);
        writer->wait(parent, kScatter);
    } else {
        writer->wait(own.rank_of(node.parent), kScatter);
        writer->copy(kept, writer.slot(kScatter, first, count));
    }
    std::uint32_t exposed = first_exposed;
    for (const patterns::Branch& branch : node.branches) {
        const auto child = first + as_u32(branch.distance);
        const Rank to = own.rank_of(static_cast<Rank>(child));
        const plan::Block sent = writer.output(child, as_u32(branch.size));
        if (into == Delivery::direct) {
            writer->wait(to, exposed);
            put_into_place(writer, to, kScatter, exposed++, sent);
        } else {
            writer->put(to, kScatter, sent);
        }
    }
}

void write(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    const patterns::RelativeRank own{request.rank, request.size, request.root};
    const patterns::RangeTree tree = patterns::knomial_tree(own.size, 2);
    const patterns::TreeNode node = patterns::find_node(tree, own.size, own.number());
    const auto right_number = static_cast<Rank>((own.number() + 1) % own.size);
    const patterns::TreeNode right = patterns::find_node(tree, own.size, right_number);
    const auto steps = as_u32(own.size) - 1;
    const std::uint32_t first_exposed = kFirstStep + steps + 1;  // after the numbers of the ring
    scatter(writer, own, node, into, first_exposed);
    pass_around(writer, own, kFirstStep, into, [&](Rank number, std::uint32_t block) {
        return is_in(number == own.number() ? node : right, number, block);
    });
    if (into == Delivery::direct) {
        if (own.size > 1) writer->reserve_slots(first_exposed + tree.children_max);
        return;
    }
    for (const patterns::Branch& branch : tree.branches(own.size))
        writer->reserve_capacity(kScatter, as_u32(branch.size));
    writer->reserve_capacities(kFirstStep, steps, 1);
}

}  // namespace

Algorithm broadcast_scatter_allgather() {
    return {.collective = "broadcast",
            .name = "scatter-allgather",
            .summary = "blocks are scattered along a binomial tree, then passed around a ring",
            .source = "van de Geijn; Thakur, Rabenseifner and Gropp, section 4.3",
            .parameters = {kTriedSegments, kIntoParameter},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = by_blocks({}, write)};
}

}  // namespace weft::collectives
