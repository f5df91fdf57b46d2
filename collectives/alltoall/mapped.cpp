// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - alltoall in which one rank of each pair copies both blocks.
//
// Idea     In place, two blocks change places, so one rank of the pair has to copy both. It is the
//          rank whose peer is at most half the ring ahead. The peer exposes its two places. The
//          first rank copies both blocks in one step, and keeps a copy of overwritten data. So each
//          rank serves the ranks after it, and the ranks before it serve it. With only two ranks,
//          each copies one half of both blocks.
// Source   Ours.
// Rounds   2. Messages: none; 3 n (n - 1) / 2 signals, or 6 for two ranks.
// Bytes    A rank copies two blocks for about every second other rank; each block is copied once.
//          In place, one of the two is copied once more, within the cache.
// Memory   No put targets, no scratch.
// Good for Long blocks on one node.
// Holds    Synchronizing. Each rank reads data before it overwrites it; no other rank reads it.
// Next     ../mapped.hpp.
#include "collectives/mapped.hpp"

#include "collectives/alltoall/alltoall.hpp"

namespace weft::collectives {

namespace {

constexpr MappedCall kCall{
    .collective = "alltoall",
    .summary = "of each two ranks, one copies both blocks",
    .source = "ours",
    .synchronizing = true,
    .halves = true,
};

/// Returns true if `rank` copies both blocks of the pair.
bool serves(Rank rank, Rank peer, Rank size) {
    const Rank ahead = (peer - rank + size) % size;
    return 2 * ahead < size || (2 * ahead == size && rank < peer);
}

/// Swaps the blocks (or halves) of two ranks: this rank's block for the peer, and the peer's block
/// for this rank.
void exchange(MappedWriter& writer, std::uint32_t unit, plan::Block their_input,
              plan::Block their_output) {
    const plan::Block to[] = {plan::output(unit), their_output};
    const plan::Block from[] = {their_input, plan::input(unit)};
    writer->copy(to, from);
}

/// For two ranks: each swaps the half with its own number.
void write_of_two(MappedWriter& writer) {
    const Rank other = 1 - writer.rank();
    const std::uint32_t own = 2 * writer.own();
    const std::uint32_t theirs = 2 * static_cast<std::uint32_t>(other);
    const std::uint32_t half = writer.own();
    writer.expose_input(other, plan::input(theirs + 1 - half));
    writer.expose_output(other, plan::output(theirs + 1 - half));
    writer->copy(plan::output(own, 2), plan::input(own, 2));
    writer.await(other, Purpose::input);
    writer.await(other, Purpose::output);
    exchange(writer, theirs + half, writer.block(other, Purpose::input, own + half),
             writer.block(other, Purpose::output, own + half));
    writer.finish_with_all();
}

void write(MappedWriter& writer) {
    if (writer.size() == 2) return write_of_two(writer);
    const Rank rank = writer.rank();
    const auto unit_of = [](Rank peer) { return static_cast<std::uint32_t>(peer); };
    writer.for_each_other([&](Rank peer) {
        if (serves(rank, peer, writer.size())) return;
        writer.expose_input(peer, plan::input(unit_of(peer)));
        writer.expose_output(peer, plan::output(unit_of(peer)));
    });
    writer->copy(plan::output(writer.own()), plan::input(writer.own()));
    writer.for_each_other([&](Rank peer) {
        if (!serves(rank, peer, writer.size())) return;
        writer.await(peer, Purpose::input);
        writer.await(peer, Purpose::output);
        exchange(writer, unit_of(peer), writer.block(peer, Purpose::input, writer.own()),
                 writer.block(peer, Purpose::output, writer.own()));
        writer.tell_done(peer);
    });
    writer.for_each_other([&](Rank peer) {
        if (!serves(rank, peer, writer.size())) writer.await(peer, Purpose::done);
    });
}

}  // namespace

Algorithm alltoall_mapped() {
    return mapped_algorithm<kCall, &write>();
}

}  // namespace weft::collectives
