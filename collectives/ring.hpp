// SPDX-License-Identifier: BSD-3-Clause
// ring.hpp - one cycle around the ring of ranks: a reduction, an allgather, or both
// as an allreduce.
//
// Idea     Reduction: block b starts at rank b + 1 and visits all ranks; each rank adds its part,
//          and rank b gets the result. Allgather: each rank first sends its own block, then in each
//          step the block that it has just received.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7,
//          with neighbors only.
// Holds    n - 1 steps with one number each. When a rank completes, all ranks have entered.
//          Combines in the order of the ring, for commutative operations.
// Next     blocks.hpp; ring.cpp of allreduce, allgather, reduce and reduce_scatter.
#pragma once

#include "collectives/landing.hpp"
#include "collectives/patterns/relative_rank.hpp"

namespace weft::collectives {

/// Reduces around the ring. `kept` returns the place for this rank's partial result of a block.
template <class Kept>
void reduce_around(BlockWriter& writer, Rank rank, Rank size, Kept kept) {
    const auto block = [&](Rank back) {
        return static_cast<std::uint32_t>((rank + 2 * size - back) % size);
    };
    for (Rank step = 0; step < size - 1; ++step) {
        const auto number = static_cast<std::uint32_t>(step);
        const std::uint32_t sent = block(step + 1);
        const std::uint32_t next = block(step + 2);
        writer->put((rank + 1) % size, number, step == 0 ? writer.input(sent) : kept(sent));
        writer->wait((rank + size - 1) % size, number);
        writer->reduce(kept(next), {writer.slot(number, next), writer.input(next)});
    }
}

/// Passes finished blocks around the ring; block v belongs to the rank with number v. Uses numbers
/// from `first_number` on, and one more with into=vector. `has(number, block)` tells if that rank
/// already has the block; it then gets a signal without data.
template <class Has>
void pass_around(BlockWriter& writer, patterns::RelativeRank place, std::uint32_t first_number,
                 Landing into, Has has) {
    const Rank own = place.number();
    const Rank next = (own + 1) % place.size;
    const Rank right = place.rank_of(next);
    const Rank left = place.rank_of(own + place.size - 1);
    const std::uint32_t exposed = first_number + static_cast<std::uint32_t>(place.size) - 1;
    const auto block = [&](Rank back) {
        return static_cast<std::uint32_t>((own + place.size - back) % place.size);
    };
    const auto vector = into == Landing::vector && place.size > 1;
    writer->reserve_steps(4 * static_cast<std::size_t>(place.size));
    if (vector) {
        const auto blocks = static_cast<std::uint32_t>(place.size);
        writer->expose(left, exposed, writer.output(0, blocks), plan::kWritten);
        writer->wait(right, exposed);
    }
    for (Rank step = 0; step < place.size - 1; ++step) {
        const std::uint32_t number = first_number + static_cast<std::uint32_t>(step);
        const std::uint32_t sent = block(step);
        const std::uint32_t received = block(step + 1);
        if (has(next, sent)) {
            writer->signal(right, number);
        } else if (vector) {
            plan::Block there = plan::mapped(right, exposed, sent);
            there.origin = 0;
            writer->put_mapped(right, number, there, writer.output(sent));
        } else {
            writer->put(right, number, writer.output(sent));
        }
        writer->wait(left, number);
        if (!has(own, received) && !vector)
            writer->copy(writer.output(received), writer.slot(number, received));
    }
}
inline void pass_around(BlockWriter& writer, Rank rank, Rank size, std::uint32_t first_number,
                        Landing into) {
    pass_around(writer, {rank, size, 0}, first_number, into,
                [](Rank, std::uint32_t) { return false; });
}

}  // namespace weft::collectives
