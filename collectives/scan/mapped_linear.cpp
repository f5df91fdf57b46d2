// SPDX-License-Identifier: BSD-3-Clause
// mapped_linear.cpp - scan from rank to rank, out of the output of the one before, where it lies.
//
// Idea     Each rank combines the output of the rank before with its input into its output, piece
//          by piece, and exposes each piece to the next rank as soon as it is done. It ends when
//          the next rank has read the last one.
// Source   Hoefler and Moor, section 3.1.4 (linear pipeline); that nothing is sent is ours.
// Rounds   n - 1 for one piece; s pieces overlap. Messages: none; (s + 1)(n - 1) signals.
// Bytes    Of m: (2n - 1) m are read and n m are written. A rank finds its input in its own cache,
//          and of the output of the one before what that one has just written.
// Memory   No put targets; a cell for each piece. Inputs are not exposed.
// Good for Many calls in a row, and nodes with more ranks than processors: a rank waits for its
//          neighbours only. Vectors up to 32 KiB go in one piece, others in pieces of as much, at
//          most 16.
// Holds    Not synchronizing. In rank order, each element by one rank. In place: an element of the
//          input is read when the same one of the output is written.
// Next     mapped.cpp for ranks that have a processor each; ../prefix.hpp for the same by puts.
#include <algorithm>

#include "collectives/blocks.hpp"
#include "collectives/scan/scan.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint64_t kPieceBytes = 32 * 1024;
constexpr std::int64_t kPiecesMax = 16;

constexpr Parameter kPieces{"pieces", "by size",
                            "parts of the vector that follow each other, at most 16", "1,3"};

/// Pieces are numbered as their signals are; one more says that all of them were read.
void write(BlockWriter& writer, const GenerateRequest& request, std::uint32_t pieces) {
    const Rank rank = request.rank;
    const bool first = rank == 0;
    const bool last = rank + 1 == request.size;
    const std::uint32_t done = pieces;
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
        if (first) {
            writer->copy(plan::output(piece), plan::input(piece));
        } else {
            writer->wait(rank - 1, piece);
            writer->reduce(plan::output(piece),
                           {plan::mapped(rank - 1, piece, piece), plan::input(piece)});
        }
        if (!last) writer->expose(rank + 1, piece, plan::output(piece));
    }
    if (!first) writer->signal(rank - 1, done);
    if (!last) writer->wait(rank + 1, done);
    if (request.size > 1) writer->reserve_slots(done + 1);
}

base::Result<plan::Program> generate(const AlgorithmSpec& spec, const GenerateRequest& asked) {
    const std::uint64_t bytes = asked.elements * asked.element_bytes;
    const auto by_size = static_cast<std::int64_t>(bytes / kPieceBytes);
    const base::Result<std::int64_t> pieces =
        number_parameter(spec, kPieces.name,
                         {.fallback = std::clamp<std::int64_t>(by_size, 1, kPiecesMax),
                          .least = 1,
                          .most = kPiecesMax});
    if (!pieces) return pieces.failure();
    GenerateRequest request = asked;
    request.segments = 1;  // vectors go as a whole: no put target limits their size
    const auto blocks = static_cast<std::uint32_t>(*pieces);
    return program_by_blocks({.collective = "scan", .blocks = blocks}, spec, request,
                             [blocks](BlockWriter& writer, const GenerateRequest& call) {
                                 write(writer, call, blocks);
                             });
}

}  // namespace

Algorithm scan_mapped_linear() {
    return {
        .collective = "scan",
        .name = "mapped-linear",
        .summary = "each rank adds its value to the previous rank's output",
        .source = "Hoefler and Moor, section 3.1.4",
        .parameters = {kPieces},
        .properties = {.ordered = true, .bit_identical = true, .one_node = true, .direct = true},
        .generate = &generate,
    };
}

}  // namespace weft::collectives
