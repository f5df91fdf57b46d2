// SPDX-License-Identifier: BSD-3-Clause
// mapped.cpp - alltoall, of two ranks by one of them.
//
// Idea     In place, two blocks change their places, so one rank has to do both: of two ranks the
//          one that comes up to half the ring before the other. That one exposes its two places to
//          it, which copies both blocks in one step, so that what is in the way is kept aside. Each
//          rank does so for the ranks that follow it, and has it done by those before; two ranks do
//          one half of the blocks each.
// Source   Ours.
// Rounds   2. Messages: none; 3 n (n - 1) / 2 signals; 6 of two ranks.
// Bytes    A rank copies two blocks for about each second of the others: each block once. In place,
//          one of the two once more, within the cache.
// Memory   No put targets, no scratch.
// Good for Long blocks on one node.
// Holds    Synchronizing. Whatever is overwritten was read before by the same rank.
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

/// Of two ranks, whether the first one does the work.
bool serves(Rank rank, Rank peer, Rank size) {
    const Rank ahead = (peer - rank + size) % size;
    return 2 * ahead < size || (2 * ahead == size && rank < peer);
}

/// What two ranks have for each other changes places: this rank's block (or half of one) for the
/// peer, and the peer's for this rank.
void exchange(MappedWriter& writer, std::uint32_t unit, plan::Block their_input,
              plan::Block their_output) {
    const plan::Block to[] = {plan::output(unit), their_output};
    const plan::Block from[] = {their_input, plan::input(unit)};
    writer->copy(to, from);
}

/// Each of two ranks lets the halves of its number change their places.
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
