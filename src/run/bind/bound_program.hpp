// SPDX-License-Identifier: BSD-3-Clause
// bound_program.hpp - program that is bound to sizes, in the form that the engine runs.
//
// Idea     Binding converts units to bytes, and slot numbers to offsets of put targets. Only the
//          caller's buffers (Registers), the bank and the tick vary between calls. So a bound
//          program is immutable, and shared by all calls that differ only in their buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/reach.hpp"
#include "base/region.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"
#include "run/bind/fused.hpp"

namespace weft::run {

/// Consecutive units of a buffer.
struct Piece {
    plan::Buffer buffer = plan::Buffer::input;
    bool moving = false;        ///< offset and size vary with the segment: computed in each step
    bool in_cell = false;       ///< slot: the data is in the cell, not in the bulk bank
    Rank peer = plan::kNoRank;  ///< published, mapped: team rank
    std::uint32_t index = 0;    ///< scratch, slot, published, mapped: number
    std::uint32_t origin = 0;   ///< unit at the start of the payload
    std::uint32_t first = 0;    ///< first unit, in segment 0
    std::uint32_t count = 0;    ///< number of units
    std::uint32_t advance = 0;  ///< increment of `first` for each segment
    std::uint64_t offset = 0;   ///< bytes from the start of the buffer or payload
    std::uint64_t bytes = 0;    ///< size; `offset` and `bytes` are valid unless `moving`
};

/// Range of BoundProgram::pieces.
struct PieceList {
    std::uint32_t start = 0;
    std::uint32_t count = 0;
};

/// Numbers of elements that two ranks exchange in a call whose counts only these two ranks know.
struct PairCounts {
    Rank peer = plan::kNoRank;  ///< team rank
    std::uint64_t sends = 0;    ///< from this rank to the peer
    std::uint64_t awaits = 0;   ///< from the peer to this rank
};

/// Step of a bound program; see plan::Step.
struct BoundStep {
    plan::StepKind kind = {};
    std::uint8_t flags = 0;
    bool in_cell = false;  ///< put: the data goes to the cell, not to the bulk bank
    bool more = false;     ///< the lane's next step also raises a flag, of a remote peer
    std::uint16_t lag = 0;
    Rank peer = plan::kNoRank;  ///< team rank
    std::uint32_t number = 0;   ///< slot, signal or cell number; loop: steps of the body
    /// Reduce: number of operands. Expose: its index. Loop: iterations.
    std::uint32_t operands = 0;
    /// Put, expose, wait: hash of a count that only sender and receiver know, for the flag; or 0.
    std::uint16_t salt = 0;
    PieceList target = {};
    PieceList source = {};  ///< reduce: the operands' lists, of equal lengths
};

/// Returns true for steps that raise a flag at a peer.
[[nodiscard]] constexpr bool puts_to_peer(plan::StepKind kind) {
    return kind == plan::StepKind::put || kind == plan::StepKind::signal ||
           kind == plan::StepKind::expose;
}

/// Range of a buffer that the program accesses, in bytes, and the access of local peers to it.
struct TouchedBuffer {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool gaps = false;     ///< the range may contain memory that is not part of the buffer
    bool exposed = false;  ///< local peers access the range
    base::Access access = base::Access::read;  ///< access of local peers
    base::Copies copies;  ///< copies that peers make if only the kernel can access it

    [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
    void add(std::uint64_t from, std::uint64_t to);
    /// Returns the union with the range of another buffer at the same address.
    [[nodiscard]] TouchedBuffer joined(const TouchedBuffer& other) const;
};

struct BoundProgram {
    plan::Program program;         ///< the unbound program, for reports
    std::string description;       ///< text of the call; printed if ranks make different calls
    base::CallHash call_hash = 0;  ///< covers everything that must be equal on all ranks; not 0
    plan::Partition partition{0, 1};
    /// Starts of blocks in elements, if they have displacements. Empty: as in the partition.
    std::vector<std::uint64_t> input_starts;
    std::vector<std::uint64_t> output_starts;
    std::uint64_t elements = 0;  ///< number of elements in the whole buffer
    std::uint32_t element_bytes = 1;
    bool synchronizing = false;
    bool bulk = false;  ///< payloads use bulk banks, not cells
    /// Size class of the bulk banks: index in RegionShape::small; kSmallClasses: large banks.
    std::uint8_t bulk_class = base::kSmallClasses;
    std::uint32_t segments = 1;
    std::uint32_t depth = 1;       ///< number of copies of each slot and cell
    std::uint64_t slot_bytes = 0;  ///< size of each slot in a bulk bank, unless slot_starts is used
    /// Offsets in a bulk bank of slots of different sizes, and the end. Empty: equal sizes.
    std::vector<std::uint64_t> slot_starts;
    /// Offset in a bulk bank of published slots, which local peers read in place. 0: none.
    std::uint64_t published_start = 0;
    std::uint64_t scratch_bytes = 0;  ///< memory for the touched parts of all scratch buffers
    TouchedBuffer touched_scratch;    ///< union of the touched ranges of all scratch buffers
    /// Scratch buffer that uses the output's memory unless the call is in place; or kNone.
    std::uint32_t scratch_in_output = kNone;
    /// Scratch buffer that is a copy of the input, and uses its memory unless the call is in place;
    /// or kNone.
    std::uint32_t scratch_in_input = kNone;
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<BoundStep> steps;
    std::vector<plan::Lane> lanes;
    /// By lane, if the program exposes memory: see tail_of().
    std::vector<std::uint32_t> tails;
    std::vector<Piece> pieces;
    std::uint32_t pieces_max = 0;  ///< length of the longest list of a step
    std::uint32_t exposes = 0;     ///< number of expose steps
    TouchedBuffer touched_input;
    TouchedBuffer touched_output;
    /// Touched bytes of both buffers, times the node's ranks. 0: no buffer is accessed in place.
    std::uint64_t node_bytes = 0;
    FusedProgram fused;             ///< fused form; empty: none
    std::vector<PairCounts> pairs;  ///< empty if the counts are equal on all ranks
    /// Pairwise programs: the ranks into whose bulk banks this rank puts.
    std::vector<Rank> bulk_receivers;

    /// Returns true if the blocks of a buffer have displacements.
    [[nodiscard]] bool has_displacements(plan::Buffer buffer) const {
        return (buffer == plan::Buffer::input && !input_starts.empty()) ||
               (buffer == plan::Buffer::output && !output_starts.empty());
    }
    /// Returns the index of the first element of a unit in a buffer.
    [[nodiscard]] std::uint64_t place(plan::Buffer buffer, std::uint32_t unit) const {
        if (!has_displacements(buffer)) return partition.begin(unit);
        return partition.place(unit, buffer == plan::Buffer::input ? input_starts : output_starts);
    }
    /// Returns true if no piece covers a part of touched_input. Ignores pieces of loops.
    [[nodiscard]] bool input_has_holes() const;
    /// Returns the offset in a bulk bank of copy number `copy` of a slot.
    [[nodiscard]] std::uint64_t slot_offset(std::uint32_t number, std::uint32_t copy) const {
        if (slot_starts.empty()) return (std::uint64_t{number} * depth + copy) * slot_bytes;
        const std::uint64_t start = slot_starts[number];
        return start + copy * ((slot_starts[number + 1] - start) / depth);
    }
    /// Returns the first step of a lane from which on it only waits for local peers. Waits for
    /// remote ranks do not count: their data arrives only while this rank makes calls. `near` is as
    /// in BindOptions.
    [[nodiscard]] std::uint32_t tail_of(const plan::Lane& lane,
                                        const std::vector<bool>* near) const;
    /// Sets scratch_in_output and scratch_in_input. The steps that copy from or to these scratch
    /// buffers then have equal source and target addresses.
    void place_scratch();
};

}  // namespace weft::run
