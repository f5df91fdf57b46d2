// SPDX-License-Identifier: BSD-3-Clause
// ring.hpp - finished blocks go once around the ring of ranks.
//
// Idea     Each rank first sends its own block, then in each step the block that it has just
//          received.
// Holds    n - 1 steps with one number each. A rank completes after all ranks have entered.
#pragma once

#include "collectives/generate/blocks.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

/// Passes finished blocks around the ring; block v belongs to the rank with number v. Uses n - 1
/// put numbers from `first_number` on, and one more with into=vector. If has(number, block) is
/// true, the rank with that number already has the block, and receives a signal without data.
template <class Has>
void pass_around(BlockWriter& writer, patterns::RelativeRank place, std::uint32_t first_number,
                 Delivery into, Has has) {
    const Rank own = place.number();
    const Rank next = (own + 1) % place.size;
    const Rank right = place.rank_of(next);
    const Rank left = place.rank_of(own + place.size - 1);
    const std::uint32_t exposed = first_number + as_u32(place.size) - 1;
    const auto block = [&](Rank back) { return as_u32((own + place.size - back) % place.size); };
    const bool direct = into == Delivery::direct && place.size > 1;
    writer->reserve_steps(4 * static_cast<std::size_t>(place.size));
    if (direct) {
        const auto blocks = as_u32(place.size);
        writer->expose(left, exposed, writer.output(0, blocks), plan::kWritten);
        writer->wait(right, exposed);
    }
    for (Rank step = 0; step < place.size - 1; ++step) {
        const std::uint32_t number = first_number + as_u32(step);
        const std::uint32_t sent = block(step);
        const std::uint32_t received = block(step + 1);
        if (has(next, sent)) {
            writer->signal(right, number);
        } else if (direct) {
            plan::Block there = plan::mapped(right, exposed, sent);
            there.origin = 0;
            writer->put_mapped(right, number, there, writer.output(sent));
        } else {
            writer->put(right, number, writer.output(sent));
        }
        writer->wait(left, number);
        if (!has(own, received) && !direct)
            writer->copy(writer.output(received), writer.slot(number, received));
    }
}
inline void pass_around(BlockWriter& writer, patterns::RelativeRank place,
                        std::uint32_t first_number, Delivery into) {
    pass_around(writer, place, first_number, into, [](Rank, std::uint32_t) { return false; });
}

}  // namespace weft::collectives
