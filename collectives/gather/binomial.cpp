// SPDX-License-Identifier: BSD-3-Clause
// binomial.cpp - gather along the binomial tree.
//
// Idea     A rank collects the blocks of its subtree, a range of ranks counted from the root, and puts them
//          to its parent in one message.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.3 (BT, personalised).
// Rounds   As many as any number below n has bits: ceil(log2 n) at most. Messages: n - 1.
// Bytes    A rank sends the blocks of its subtree; in all as many blocks as the numbers below n have bits.
// Memory   Slots for n - 1 blocks at the root; one scratch vector in between; with segments two copies and
//          a credit.
// Good for Short blocks, any n and root.
// Holds    Not synchronizing.
#include "collectives/blocks.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

namespace {

/// A rank's place in the binomial tree of ranks counted from the root. A child at distance 2^j has number j.
struct Place {
    explicit Place(const GenerateRequest& request)
        : size(request.size),
          root(request.root),
          own((request.rank - request.root + request.size) % request.size),
          node(patterns::find_node(patterns::knomial_tree(size, 2), size, own)) {}

    [[nodiscard]] Rank real(Rank number) const {
        return static_cast<Rank>((std::int64_t{number} + root) % size);
    }
    [[nodiscard]] std::uint32_t block(Rank number) const {
        return static_cast<std::uint32_t>(real(number));
    }
    [[nodiscard]] static std::uint32_t number_of(Rank distance) {
        return static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint32_t>(distance)));
    }
    /// Numbers that children have.
    [[nodiscard]] std::uint32_t numbers() const {
        return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(size) - 1));
    }

    Rank size;
    Rank root;
    Rank own;
    patterns::TreeNode node;
};

void write(BlockWriter& writer, const GenerateRequest& request) {
    const Place place(request);
    const std::uint32_t credit = place.numbers();
    const std::uint32_t own = place.block(place.own);
    const bool top = place.own == 0;
    const bool leaf = place.node.branches.empty();
    const auto kept = [&](Rank number, Rank count) {
        const std::uint32_t first = place.block(number);
        const auto blocks = static_cast<std::uint32_t>(count);
        return writer.around(top ? writer.output(first, blocks) : writer.scratch(0, first, blocks));
    };
    if (top || !leaf) writer->copy(kept(place.own, 1), writer.around(writer.input(own)));
    for (const patterns::Branch& branch : place.node.branches) {
        const Rank child = place.own + branch.distance;
        const std::uint32_t number = Place::number_of(branch.distance);
        writer->wait(place.real(child), number);
        writer->copy(kept(child, branch.size),
                     writer.around(writer.slot(number, place.block(child),
                                               static_cast<std::uint32_t>(branch.size))));
        writer.give_credit(place.real(child), credit);
    }
    if (!top) {
        const Rank parent = place.real(place.node.parent);
        writer.await_credit(parent, credit);
        writer->put(parent, Place::number_of(place.own - place.node.parent),
                    leaf ? writer.around(writer.input(own)) : kept(place.own, place.node.size));
    }
    for (std::uint32_t number = 0; number < place.numbers(); ++number)
        writer->reserve_capacity(
            number,
            std::min(1U << number, static_cast<std::uint32_t>(place.size) - (1U << number)));
    writer.reserve_credits(credit, 1);
}

base::Result<plan::Program> generate_binomial(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("gather", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    BlockWriter writer(std::move(header), static_cast<std::uint32_t>(request.size), *segments,
                       Cut::blocks);
    write(writer, request);
    return std::move(writer).finish();
}

}  // namespace

Algorithm gather_binomial() {
    return {
        .collective = "gather",
        .name = "binomial",
        .summary = "subtrees of doubling size hand on their blocks",
        .source = "Hoefler and Moor, section 3.1.3",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_binomial,
    };
}

}  // namespace weft::collectives
