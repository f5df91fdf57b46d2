// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - calls whose counts only the two ends of a message know, bound without a runtime.
//
// Idea     A matrix says how many elements each rank has for each other one. A side is what one
//          rank makes of its row and its column: its program, its memory, what must come.
// Holds    Blocks stand last first with a gap after each, so that what is written beside them
//          shows.
// Next     collectives/v_collective.hpp; the tests of the virtual wire and the farm run such calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/region.hpp"
#include "collectives/v_collective.hpp"
#include "run/bind/bound_program.hpp"
#include "run/execute/operation.hpp"

namespace weft::test {

/// Counts of one call by sender and receiver.
struct CountMatrix {
    Rank size = 0;
    std::vector<std::uint64_t> counts;

    [[nodiscard]] std::uint64_t& at(Rank from, Rank to) {
        return counts[static_cast<std::size_t>(from * size + to)];
    }
    [[nodiscard]] std::uint64_t at(Rank from, Rank to) const {
        return counts[static_cast<std::size_t>(from * size + to)];
    }
};
/// Mostly sparse, sometimes full, sometimes nothing, sometimes from or to one rank only.
[[nodiscard]] CountMatrix draw_counts(base::Random& random, Rank size);

using ExchangeElement = std::uint32_t;

/// One call as one rank sees it: its program and its memory.
struct ExchangeSide {
    std::vector<collectives::Message> sent;
    std::vector<collectives::Message> received;
    std::vector<std::uint64_t> in_starts;   ///< of what is sent
    std::vector<std::uint64_t> out_starts;  ///< of what is received
    std::vector<ExchangeElement> input;
    std::vector<ExchangeElement> output;
    std::byte* exposed = nullptr;  ///< a copy of the input that mates can read, or none
    run::BoundProgram program;
    run::Operation* op = nullptr;
};

/// Which messages are read where they lie: long ones between ranks of a node.
struct ExchangeMapping {
    std::vector<int> nodes;
    std::uint64_t least = ~std::uint64_t{0};  ///< elements

    [[nodiscard]] collectives::Message message(Rank own, Rank peer, std::uint64_t count) const;
};

/// What `sends` says goes out, what `awaits` says comes in: the same in a call that is right.
[[nodiscard]] ExchangeSide exchange_side(std::uint64_t call, Rank rank, const CountMatrix& sends,
                                         const CountMatrix& awaits, const base::RegionShape& shape,
                                         const ExchangeMapping& mapping = {});
[[nodiscard]] run::Registers registers_of(ExchangeSide& side);
/// Empty if everything that was awaited is there, and nothing else was touched.
[[nodiscard]] std::string check_exchange(const ExchangeSide& side, std::uint64_t call, Rank rank);
/// A region in which such calls of so many ranks can run.
[[nodiscard]] base::RegionShape exchange_shape(Rank size, std::uint32_t banks);

}  // namespace weft::test
