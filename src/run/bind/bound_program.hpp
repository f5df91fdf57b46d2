// SPDX-License-Identifier: BSD-3-Clause
// bound_program.hpp - a program joined to sizes, which the engine runs.
//
// Idea     Binding turns units into bytes, and slot numbers into offsets of put targets, once per
//          shape of call. Only the caller's buffers (registers), the bank and the tick vary from
//          call to call. A bound program is immutable and shared by all calls of its shape.
// Next     bind.hpp makes one; run/execute/engine.hpp runs it; fused.hpp is its shortest form.
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

/// Consecutive units of one buffer. Pieces that move with the segment vary in size.
struct Piece {
    plan::Buffer buffer = plan::Buffer::input;
    bool moving = false;
    bool in_cell = false;  ///< slot of a program with bulk payloads: this payload is in its cell
    Rank peer = plan::kNoRank;  ///< published, mapped: team rank
    std::uint32_t index = 0;    ///< scratch, slot, published, mapped: number
    std::uint32_t origin = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t advance = 0;
    std::uint64_t offset = 0;  ///< bytes from the start of the buffer or payload
    std::uint64_t bytes = 0;
};

struct PieceList {
    std::uint32_t start = 0;
    std::uint32_t count = 0;
};

/// Elements that two ranks exchange in a call whose counts only these two know.
struct PairCounts {
    Rank peer = plan::kNoRank;  ///< team rank
    std::uint64_t sends = 0;    ///< from this rank to the peer
    std::uint64_t awaits = 0;   ///< from the peer to this rank
};

struct BoundStep {
    plan::StepKind kind = {};
    std::uint8_t flags = 0;
    bool in_cell = false;  ///< put of a program with bulk payloads: this payload uses its cell
    std::uint16_t lag = 0;
    Rank peer = plan::kNoRank;  ///< team rank
    std::uint32_t number = 0;   ///< slot, signal or cell number; loop: steps of the body
    /// Reduce: number of operands. Expose: its index. Loop: iterations.
    std::uint32_t operands = 0;
    /// Put, wait: hash of a count that only both ends know, a part of the flag. 0: unused.
    std::uint16_t salt = 0;
    PieceList target = {};
    PieceList source = {};  ///< reduce: the operands' lists, of equal lengths
};

/// Returns true for steps that raise a flag at a peer.
[[nodiscard]] constexpr bool puts_to_peer(plan::StepKind kind) {
    return kind == plan::StepKind::put || kind == plan::StepKind::signal ||
           kind == plan::StepKind::expose;
}

/// Range that a program touches in one of the caller's buffers, in bytes from its start, and the
/// access of local peers to it.
struct TouchedBuffer {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool gaps = false;  ///< gaps between blocks may belong to others
    bool exposed = false;
    base::Access access = base::Access::read;  ///< access of local peers
    base::Copies copies;                       ///< copies by peers, if the kernel has to make them

    [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
    void add(std::uint64_t from, std::uint64_t to);
    /// Returns the union, for two buffers that are the same memory.
    [[nodiscard]] TouchedBuffer joined(const TouchedBuffer& other) const;
};

struct BoundProgram {
    plan::Program program;         ///< the unbound program, for reports
    std::string description;       ///< the call as text, for reports of disagreements
    base::CallHash call_hash = 0;  ///< covers everything that ranks must agree about; not 0
    plan::Partition partition{0, 1};
    /// Starts of blocks of an uneven buffer, in elements. Empty: as in the partition.
    std::vector<std::uint64_t> input_starts;
    std::vector<std::uint64_t> output_starts;
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    bool synchronizing = false;
    bool bulk = false;  ///< payloads use bulk banks, not cells
    /// Class of these banks: the smallest that fits all slots.
    std::uint8_t bulk_class = base::kSmallClasses;
    std::uint32_t segments = 1;
    std::uint32_t depth = 1;
    std::uint64_t slot_bytes = 0;  ///< bytes of the largest slot in a bulk bank
    /// Starts of slots of different sizes, and the end. Empty: equal sizes.
    std::vector<std::uint64_t> slot_starts;
    /// Offset of published slots in a bulk bank. Peers read them in place.
    std::uint64_t published_start = 0;
    std::uint64_t scratch_bytes = 0;  ///< touched bytes of all scratch buffers together
    TouchedBuffer touched_scratch;    ///< touched range of any scratch buffer
    /// Scratch buffer that is placed in the output, unless the call is in place; or kNone.
    std::uint32_t scratch_in_output = kNone;
    /// Scratch buffer that is an unchanged copy of the input, and is replaced by the input, unless
    /// the call is in place; or kNone.
    std::uint32_t scratch_in_input = kNone;
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<BoundStep> steps;
    std::vector<plan::Lane> lanes;
    /// By lane of a program that exposes: step from which it only waits for local peers.
    std::vector<std::uint32_t> tails;
    std::vector<Piece> pieces;
    std::uint32_t pieces_max = 0;  ///< longest list of one step
    std::uint32_t exposes = 0;     ///< number of expose steps
    TouchedBuffer touched_input;
    TouchedBuffer touched_output;
    /// Bytes that the node's ranks touch in all their buffers, if each touches the same number.
    std::uint64_t node_bytes = 0;
    FusedProgram fused;             ///< empty if the steps do not allow it
    std::vector<PairCounts> pairs;  ///< of calls whose counts only the two ends of a message know

    /// Returns true if a buffer's blocks have displacements.
    [[nodiscard]] bool has_displacements(plan::Buffer buffer) const {
        return (buffer == plan::Buffer::input && !input_starts.empty()) ||
               (buffer == plan::Buffer::output && !output_starts.empty());
    }
    /// Returns the element of a buffer where a unit starts.
    [[nodiscard]] std::uint64_t place(plan::Buffer buffer, std::uint32_t unit) const {
        if (!has_displacements(buffer)) return partition.begin(unit);
        return partition.place(unit, buffer == plan::Buffer::input ? input_starts : output_starts);
    }
    /// Returns the offset of a copy of a slot in a bulk bank.
    [[nodiscard]] std::uint64_t slot_offset(std::uint32_t number, std::uint32_t copy) const {
        if (slot_starts.empty()) return (std::uint64_t{number} * depth + copy) * slot_bytes;
        const std::uint64_t start = slot_starts[number];
        return start + copy * ((slot_starts[number + 1] - start) / depth);
    }
    /// Returns the step where the last waits of a lane begin. Waits for remote ranks do not count:
    /// their data needs this rank's calls to arrive. `near` is as in BindOptions.
    [[nodiscard]] std::uint32_t tail_of(const plan::Lane& lane,
                                        const std::vector<bool>* near) const;
    /// Sets scratch_in_output and scratch_in_input: scratch buffers that need no memory of their
    /// own. The copy step of such a buffer then has equal source and target.
    void place_scratch();
};

}  // namespace weft::run
