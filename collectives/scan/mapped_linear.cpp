// SPDX-License-Identifier: BSD-3-Clause
// mapped_linear.cpp - scan in which each rank reads the output of the previous rank in place.
//
// Idea     Each rank combines the output of the previous rank with its input into its own output,
//          piece by piece. It exposes each piece to the next rank at once, and completes after the
//          next rank has read the last piece.
// Source   Hoefler and Moor, section 3.1.4 (linear pipeline); the version without puts is ours.
// Rounds   n - 1 for one piece; s pieces overlap. Messages: none; (s + 1)(n - 1) signals.
// Bytes    For buffers of m bytes: (2n - 1) m are read, n m are written. A rank's input is in its
//          own cache; the previous rank's output was just written.
// Memory   No put targets; s + 1 cells for s pieces. Inputs are not exposed.
// Good for Many calls in a row, and nodes with more ranks than processors: a rank waits only for
//          its neighbors. The default is a piece for each whole 32 KiB, 1 to 16 pieces.
// Holds    Not synchronizing. Combines in rank order; one rank computes each element. In place, an
//          element of the input is read before the same element of the output is written.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint64_t kPieceBytes = 32 * 1024;
constexpr std::int64_t kPiecesMax = 16;

constexpr Parameter kPieces{"pieces", "by size",
                            "parts of the buffer that follow each other, at most 16", "1,3"};

/// Writes the program. A piece and its signal have the same number; the next number signals that
/// all pieces have been read.
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

base::Result<plan::Program> generate(GenerateRequest request) {
    const std::uint64_t bytes = request.elements * request.element_bytes;
    const auto by_size = static_cast<std::int64_t>(bytes / kPieceBytes);
    const std::int64_t pieces =
        WEFT_TRY(number_parameter(*request.spec, kPieces.name,
                                  {.fallback = std::clamp<std::int64_t>(by_size, 1, kPiecesMax),
                                   .least = 1,
                                   .most = kPiecesMax}));
    request.segments = 1;  // no put target limits the size, so buffers are not cut
    const auto blocks = as_u32(pieces);
    return program_by_blocks({.blocks = blocks}, request,
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
        .generate = &generate};
}

}  // namespace weft::collectives
