// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - neighborhood collectives of a stencil: each rank gets a block from each neighbor.
//
// Idea     Direct: a put to each neighbor. Combined: dimension after dimension. In the round of a
//          dimension all blocks whose offsets have the same part there go that far along it
//          together, those that came with earlier rounds included. So the 26 neighbors of a box in
//          three dimensions are served by 6 messages.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, problem 4; Traeff et al.,
//          Isomorphic, sparse MPI-like collective communication operations.
// Rounds   Direct: 1; combined: one for each dimension. Messages of a rank: direct, one for each
//          neighbor; combined, one for each value other than 0 that a part of the offsets has.
// Bytes    Direct: each block once. Combined: once for each part of its offset that is not 0; of a
//          gather, where all neighbors get the same block, once for each of the different
//          beginnings of offsets that end in such a part.
// Memory   A slot for each message; combined: scratch for blocks on their way.
// Good for Combined: short blocks and many neighbors.
// Holds    Not synchronizing. The vector has a block for each offset; a block of the output whose
//          neighbor is missing is left alone. A gather reads the first block alone. Input and
//          output are separate. Blocks may differ in size if opposite ones do not
//          (Program::set_counts).
// Next     stencil.hpp; ../v_collective.hpp for any other graph.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/neighborhood/stencil.hpp"
#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::collectives {

enum class NeighborData : std::uint8_t {
    same,  ///< all neighbors get one block: neighbor_allgather
    own,   ///< each gets a block of its own: neighbor_alltoall
};
enum class NeighborWay : std::uint8_t { direct, combined };

struct NeighborRequest {
    const Stencil* stencil = nullptr;
    NeighborData data = NeighborData::own;
    NeighborWay way = NeighborWay::direct;
    Rank rank = 0;
    std::uint32_t segments = 1;  ///< pieces that each block is cut into
    std::uint64_t elements = 0;  ///< of all blocks together
};

[[nodiscard]] plan::Program generate_neighbors(const NeighborRequest& request);

/// What the programs of all ranks must achieve: block i of the output is what neighbor i has for
/// this rank. The stencil outlives the contract.
[[nodiscard]] plan::Contract neighbor_contract(const Stencil& stencil, NeighborData data);

}  // namespace weft::collectives
