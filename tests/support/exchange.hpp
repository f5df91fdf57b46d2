// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - exchanges whose counts only sender and receiver know, bound without a runtime.
//
// Idea     A matrix has the number of elements from each rank to each rank. An ExchangeSide has one
//          rank's program, made from the rank's row and column of the matrix, and its buffers.
// Holds    A buffer has its blocks in reverse order with a gap after each, so that check_exchange()
//          detects a write outside a block.
// Next     collectives/v_collective.hpp generates the programs; tests/virtual runs these calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/region.hpp"
#include "collectives/v_collective.hpp"
#include "run/bind/bind.hpp"
#include "run/execute/team_state.hpp"

namespace weft::test {

/// Element counts of one call, by sender and receiver.
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
/// Returns random counts. A matrix is sparse, full or all zero, or has one sender or one receiver.
[[nodiscard]] CountMatrix draw_counts(base::Random& random, Rank size);

using ExchangeElement = std::uint32_t;

/// One rank's part of a call: its program and its memory.
struct ExchangeSide {
    std::vector<collectives::Message> sent;
    std::vector<collectives::Message> received;
    std::vector<std::uint64_t> in_starts;   ///< start of each sent message in `input`, in elements
    std::vector<std::uint64_t> out_starts;  ///< start of each received message in `output`
    std::vector<ExchangeElement> input;
    std::vector<ExchangeElement> output;
    std::byte* exposed = nullptr;  ///< copy of the input that local peers can read, or nullptr
    run::BoundProgram program;
    run::Operation* op = nullptr;
};

/// Selects messages that the receiver reads in place: long messages between ranks of a node.
struct ExchangeMapping {
    std::vector<int> nodes;
    std::uint64_t count_min = ~std::uint64_t{0};  ///< smallest number of elements

    [[nodiscard]] collectives::Message message(Rank own, Rank peer, std::uint64_t count) const;
};

/// Builds a rank's side. The rank sends the messages in its row of `sends`, and waits for the
/// messages in its column of `expects`. In a correct call the two matrices are equal. call: number
/// that determines the values of the elements.
[[nodiscard]] ExchangeSide exchange_side(std::uint64_t call, Rank rank, const CountMatrix& sends,
                                         const CountMatrix& expects, const base::RegionShape& shape,
                                         const ExchangeMapping& mapping = {});
[[nodiscard]] run::Registers registers_of(ExchangeSide& side);
/// Returns an empty text if the output contains all expected data and was written nowhere else,
/// else a description of the first wrong element.
[[nodiscard]] std::string check_exchange(const ExchangeSide& side, std::uint64_t call, Rank rank);
/// Returns the shape of a region for exchanges of `size` ranks.
[[nodiscard]] base::RegionShape exchange_shape(Rank size, std::uint32_t banks);

}  // namespace weft::test
