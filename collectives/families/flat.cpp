// SPDX-License-Identifier: BSD-3-Clause
// flat.cpp - gather and reduce with puts from all ranks to the root, scatter with puts from it.
//
// Idea     Every rank puts its block (gather) or buffer (reduce) to the root, which combines
//          buffers in rank order. scatter: the root puts to each rank its block, starting with the
//          next rank.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.1 (flat tree).
// Rounds   1. Messages: n - 1, all to (from) the root.
// Bytes    gather, reduce: every rank but the root sends one block (buffer); the root reduces n - 1
//          buffers. scatter: the root sends n - 1 blocks.
// Memory   gather, reduce: n slots, all of them at the root; with segments two copies each, and a
//          credit. scatter: one slot of one block; with segments two copies of it, and n - 1
//          credits at the root. No slots with into=vector.
// Good for Long blocks, since each is sent once; few ranks, or ranks of one node. Reductions with
//          operations that do not commute, with any root.
// Holds    The root's program grows with the team; the other programs have constant length. The
//          number of a put to the root is its sender's rank. In a scatter, the number of a credit
//          is the rank's number, counted from the root.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint32_t kData = 0;  ///< number of a scattered block

/// Reserves a slot of one block for each rank except the root, which puts nothing.
void reserve_slot_of_each(BlockWriter& writer, const GenerateRequest& request) {
    const auto root = as_u32(request.root);
    writer->reserve_capacities(0, root, 1);
    writer->reserve_capacity(root, 0);
    writer->reserve_capacities(root + 1, as_u32(request.size) - root - 1, 1);
}

/// Writes the program with into=vector: the root exposes to each rank its block of the output.
void gather_directly(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    const auto exposed = as_u32(request.size);
    writer->reserve_slots(request.size == 1 ? 0 : exposed + 1);
    if (request.rank != request.root) {
        writer->wait(request.root, exposed);
        return put_into_place(writer, request.root, own, exposed, writer.input(own));
    }
    const patterns::RelativeRank place{request.rank, request.size, request.root};
    for (Rank number = 1; number < request.size; ++number) {
        const Rank from = place.rank_of(number);
        writer->expose(from, exposed, writer.output(as_u32(from)), plan::kWritten);
    }
    writer->copy(writer.output(own), writer.input(own));
    for (Rank number = 1; number < request.size; ++number) {
        const Rank from = place.rank_of(number);
        writer->wait(from, as_u32(from));
    }
}

void write_gather(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    if (into == Delivery::direct) return gather_directly(writer, request);
    const auto own = as_u32(request.rank);
    const auto credit = as_u32(request.size);
    if (request.rank != request.root) {
        writer.await_credit(request.root, credit);
        writer->put(request.root, own, writer.input(own));
    } else {
        writer->copy(writer.output(own), writer.input(own));
        for (Rank rank = 0; rank < request.size; ++rank) {
            const auto number = as_u32(rank);
            if (rank == request.root) continue;
            writer->wait(rank, number);
            writer->copy(writer.output(number), writer.slot(number, number));
            writer.give_credit(rank, credit);
        }
    }
    reserve_slot_of_each(writer, request);
    writer.reserve_credits(credit, 1);
}

void write_reduce(BlockWriter& writer, const GenerateRequest& request) {
    const auto credit = as_u32(request.size);
    if (request.rank != request.root) {
        writer.await_credit(request.root, credit);
        writer->put(request.root, as_u32(request.rank), writer.input(0));
    } else {
        std::vector<plan::Block> operands;
        for (Rank rank = 0; rank < request.size; ++rank) {
            const auto number = as_u32(rank);
            if (rank != request.root) writer->wait(rank, number);
            operands.push_back(rank == request.root ? writer.input(0) : writer.slot(number, 0));
        }
        writer.combine(writer.output(0), operands);
        for (Rank rank = 0; rank < request.size; ++rank)
            if (rank != request.root) writer.give_credit(rank, credit);
    }
    if (request.size == 1) return;
    reserve_slot_of_each(writer, request);
    writer.reserve_credits(credit, 1);
}

/// Writes the program with into=vector: each rank exposes its output block to the root.
void scatter_directly(BlockWriter& writer, const GenerateRequest& request) {
    const patterns::RelativeRank relative{request.rank, request.size, request.root};
    const auto own = as_u32(request.rank);
    const auto exposed = [](Rank number) { return kData + as_u32(number); };
    writer->reserve_slots(request.size == 1 ? 0 : exposed(request.size));
    if (request.rank != request.root) {
        writer->expose(request.root, exposed(relative.number()), writer.output(own),
                       plan::kWritten);
        return writer->wait(request.root, kData);
    }
    writer->copy(writer.output(own), writer.input(own));
    for (Rank number = 1; number < request.size; ++number) {
        const Rank to = relative.rank_of(number);
        writer->wait(to, exposed(number));
        put_into_place(writer, to, kData, exposed(number), writer.input(as_u32(to)));
    }
}

void write_scatter(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    if (into == Delivery::direct) return scatter_directly(writer, request);
    const patterns::RelativeRank relative{request.rank, request.size, request.root};
    const auto own = as_u32(request.rank);
    const auto credit = [](Rank number) { return kData + as_u32(number); };
    if (request.rank == request.root) {
        writer->copy(writer.output(own), writer.input(own));
        for (Rank number = 1; number < request.size; ++number) {
            const Rank to = relative.rank_of(number);
            writer.await_credit(to, credit(number));
            writer->put(to, kData, writer.input(as_u32(to)));
        }
    } else {
        writer->wait(request.root, kData);
        writer->copy(writer.output(own), writer.slot(kData, own));
        writer.give_credit(request.root, credit(relative.number()));
    }
    if (request.size == 1) return;
    writer->reserve_capacity(kData, 1);
    writer.reserve_credits(credit(1), as_u32(request.size - 1));
}

}  // namespace

Algorithm flat(std::string_view collective) {
    Algorithm algorithm{.collective = collective,
                        .name = "flat",
                        .source = "Hoefler and Moor, section 3.1.1",
                        .parameters = {kTriedSegments},
                        .properties = {.ordered = true, .bit_identical = true}};
    if (collective == "reduce") {
        algorithm.summary = "every rank puts its buffer to the root";
        algorithm.generate = by_blocks({.blocks = 1, .one_stage = true}, write_reduce);
        return algorithm;
    }
    const bool gathers = collective == "gather";
    algorithm.summary =
        gathers ? "every rank puts its block to the root" : "the root puts to each rank its block";
    algorithm.parameters.push_back(kIntoParameter);
    algorithm.generate = by_blocks({.one_stage = true}, gathers ? write_gather : write_scatter);
    return algorithm;
}

}  // namespace weft::collectives
