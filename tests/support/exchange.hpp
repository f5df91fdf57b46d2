// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - calls with counts that only sender and receiver know, bound without a runtime.
//
// Idea     A matrix has the number of elements from each rank to each other rank. A side is one
//          rank's view: the program from its row and column, its memory and its expected result.
// Holds    Blocks are in reverse order with a gap after each, so that a write outside
//          a block shows.
// Next     collectives/v_collective.hpp. The tests of the virtual wire and the farm
//          run these calls.
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
/// Returns counts that are mostly sparse, sometimes full or all zero, and sometimes involve only
/// one sender or one receiver.
[[nodiscard]] CountMatrix draw_counts(base::Random& random, Rank size);

using ExchangeElement = std::uint32_t;

/// One rank's part of a call: its program and its memory.
struct ExchangeSide {
    std::vector<collectives::Message> sent;
    std::vector<collectives::Message> received;
    std::vector<std::uint64_t> in_starts;   ///< of the sent messages in `input`
    std::vector<std::uint64_t> out_starts;  ///< of the received messages in `output`
    std::vector<ExchangeElement> input;
    std::vector<ExchangeElement> output;
    std::byte* exposed = nullptr;  ///< copy of the input that local peers can read, or nullptr
    run::BoundProgram program;
    run::Operation* op = nullptr;
};

/// Selects messages that the receiver reads in place: long messages between ranks of a node.
struct ExchangeMapping {
    std::vector<int> nodes;
    std::uint64_t least = ~std::uint64_t{0};  ///< elements

    [[nodiscard]] collectives::Message message(Rank own, Rank peer, std::uint64_t count) const;
};

/// Builds a rank's side. `sends` gives the messages that it sends, `awaits` the messages that it
/// expects. In a correct call both are equal.
[[nodiscard]] ExchangeSide exchange_side(std::uint64_t call, Rank rank, const CountMatrix& sends,
                                         const CountMatrix& awaits, const base::RegionShape& shape,
                                         const ExchangeMapping& mapping = {});
[[nodiscard]] run::Registers registers_of(ExchangeSide& side);
/// Returns an empty text if all expected data has arrived and no other memory was written.
[[nodiscard]] std::string check_exchange(const ExchangeSide& side, std::uint64_t call, Rank rank);
/// Returns a region for such calls of `size` ranks.
[[nodiscard]] base::RegionShape exchange_shape(Rank size, std::uint32_t banks);

}  // namespace weft::test
