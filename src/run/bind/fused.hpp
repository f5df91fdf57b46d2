// SPDX-License-Identifier: BSD-3-Clause
// fused.hpp - the shortest form of a bound program: stages of store, wait and combine.
//
// Idea     A program of one node and one segment is a list of stages: store some payloads with
//          their flags, take in some in order, store the result. A stage runs as one loop without
//          decoding steps. Of each cell it is known in whose region it lies, and where: only the
//          bank differs from call to call.
// Holds    Made from the steps alone (fuse.cpp); gives what the steps give, which the tests of the
//          virtual wire check program by program.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::run {

/// Which memory a stage reads or writes: a vector of the call, one for results on the way, a cell
/// that a peer has written here or the slot that belongs to it in a bulk bank, or a cell that its
/// owner has published, or a slot there.
enum class FusedBuffer : std::uint8_t {
    none,
    input,
    output,
    scratch,
    cell,
    slot,
    published,
    published_slot
};

/// Where a cell lies.
struct FusedCell {
    std::uint64_t offset = 0;  ///< in bank 0, from the start of the region
    Rank owner = 0;            ///< team rank in whose region it lies
    std::uint32_t stride = 0;  ///< from bank to bank
};

struct FusedPlace {
    FusedBuffer buffer = FusedBuffer::none;
    Rank peer = -1;            ///< team rank that wrote the cell
    std::uint32_t number = 0;  ///< of the cell
    std::uint64_t offset = 0;  ///< bytes from the start of the vector, of the payload or, of a
                               ///< slot, of the bank
    FusedCell cell = {};       ///< of places that have one

    [[nodiscard]] bool in_slot() const {
        return buffer == FusedBuffer::slot || buffer == FusedBuffer::published_slot;
    }
    [[nodiscard]] bool published() const {
        return buffer == FusedBuffer::published || buffer == FusedBuffer::published_slot;
    }
    [[nodiscard]] bool in_cell() const {
        return buffer == FusedBuffer::cell || in_slot() || published();
    }
    /// Whether both have the same flag.
    [[nodiscard]] bool same_cell(const FusedPlace& other) const {
        return in_cell() && other.in_cell() && number == other.number &&
               published() == other.published() && (!published() || peer == other.peer);
    }
};

/// A payload and its flag.
struct FusedStore {
    Rank peer = -1;     ///< team rank whose cell it is; -1: published by this rank
    FusedPlace target;  ///< cell or slot there; published
    FusedPlace source;  ///< none: a bare flag
    std::uint64_t bytes = 0;
};

/// Most bytes of results on the way; longer ones have an operation's memory.
inline constexpr std::uint64_t kFusedScratch = 16384;

/// Most operands of one result.
inline constexpr std::size_t kFusedOperands = 64;

/// A cell whose flag is awaited, a part of the result, or both.
struct FusedOperand {
    FusedPlace place;
    bool awaited = false;
    bool combines = true;
};

struct FusedStage {
    std::vector<FusedStore> stores;
    std::vector<FusedOperand> operands;  ///< awaited, then combined, in this order
    FusedPlace target;                   ///< of the result; none: the stage only waits
    std::uint64_t bytes = 0;             ///< of the result
    std::uint64_t elements = 0;          ///< likewise
    bool in_cells = true;                ///< the result is no larger than a cell's payload
    bool pair = false;                   ///< in cells: of two operands, which nothing else follows
};

struct FusedProgram {
    std::vector<FusedStage> stages;
    bool stores_at_peers = false;  ///< needs a team whose ranks all share memory
    std::uint64_t scratch_bytes = 0;

    [[nodiscard]] bool empty() const { return stages.empty(); }
};

}  // namespace weft::run
