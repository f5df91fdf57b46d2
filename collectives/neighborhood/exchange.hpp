// SPDX-License-Identifier: BSD-3-Clause
// exchange.hpp - neighborhood collectives of a stencil: each rank receives a block
// from each neighbor.
//
// Idea     Direct: a put to each neighbor. Combined: one dimension after another. In the round of a
//          dimension, all blocks whose offsets have the same part there move that distance
//          together, blocks from earlier rounds included. So 6 messages serve the 26 neighbors of a
//          box in three dimensions.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, problem 4; Traeff et al.,
//          Isomorphic, sparse MPI-like collective communication operations.
// Rounds   Direct: 1. Combined: one for each dimension. Messages of a rank: direct, one for each
//          neighbor; combined, one for each nonzero value of each part of the offsets.
// Bytes    Direct: each block once. Combined: once for each nonzero part of its offset. In a
//          gather all neighbors receive the same block, so offsets that begin with the same
//          parts share it.
// Memory   A slot for each message; combined: scratch for blocks between rounds.
// Good for Combined: short blocks and many neighbors.
// Holds    Not synchronizing. The vector has a block for each offset. A block of the output without
//          a neighbor is not written. A gather reads only the first block. Input and output must be
//          separate. Blocks may differ in size if opposite ones do not (Program::set_counts).
// Next     stencil.hpp; ../v_collective.hpp for any other graph.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/neighborhood/stencil.hpp"
#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::collectives {

enum class NeighborData : std::uint8_t {
    same,  ///< all neighbors receive the same block: neighbor_allgather
    own,   ///< each neighbor receives its own block: neighbor_alltoall
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

/// Returns the program of the request's rank.
[[nodiscard]] plan::Program generate_neighbors(const NeighborRequest& request);

/// Returns the requirements on the programs of all ranks: block i of the output is neighbor i's
/// block for this rank. The stencil must outlive the contract.
[[nodiscard]] plan::Contract neighbor_contract(const Stencil& stencil, NeighborData data);

}  // namespace weft::collectives
