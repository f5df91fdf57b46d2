// SPDX-License-Identifier: BSD-3-Clause
// ring.hpp - a reduction once around the ring of ranks, for algorithms that begin with one.
//
// Idea     Block b starts at rank b + 1 and goes once around; each rank on the way adds its part, so that rank b
//          ends up with it.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.7, with neighbours only.
// Holds    n - 1 steps with the numbers 0 .. n - 2. A rank that is through knows that all have entered.
//          Combined in the order of the ring: for operations that commute.
// Next     blocks.hpp; ring.cpp of allreduce, reduce and reduce_scatter.
#pragma once

#include "collectives/blocks.hpp"

namespace weft::collectives {

/// `kept` gives the place in which this rank keeps what it has combined of a block.
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

}  // namespace weft::collectives
