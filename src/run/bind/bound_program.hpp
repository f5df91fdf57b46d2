// SPDX-License-Identifier: BSD-3-Clause
// bound_program.hpp - a program joined to sizes: what the engine steps through.
//
// Idea     Binding turns units into bytes and numbers of slots into offsets of put targets, once
//          per shape of call. What stays open is what differs from call to call: the caller's
//          buffers (registers), the bank, the tick. So nothing is looked up, hashed or allocated
//          per call.
// Holds    A bound program is immutable and shared by all calls of its shape on its team.
// Next     bind.hpp makes one; run/execute/engine.hpp runs it; fused.hpp is its shortest form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/reach.hpp"
#include "base/region.hpp"
#include "plan/schedule/program.hpp"
#include "run/bind/fused.hpp"

namespace weft::run {

/// A run of consecutive units of one buffer. Bytes are known at once unless it moves with the
/// segment of a loop.
struct Piece {
    plan::Buffer buffer = plan::Buffer::input;
    bool moving = false;
    bool in_cell = false;  ///< slot of a program with bulk payloads: this one travels in its cell
    Rank peer = plan::kNoRank;  ///< published, mapped: team rank
    std::uint32_t index = 0;    ///< scratch, slot, published, mapped: number
    std::uint32_t origin = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t advance = 0;
    std::uint64_t offset = 0;  ///< bytes from the start of the buffer (of the payload: slot, ...)
    std::uint64_t bytes = 0;
};

struct PieceList {
    std::uint32_t start = 0;
    std::uint32_t count = 0;
};

/// What two ranks send each other in a call whose counts only they know, in elements.
struct PairCounts {
    Rank peer = plan::kNoRank;  ///< team rank
    std::uint64_t sends = 0;    ///< this rank to the peer
    std::uint64_t awaits = 0;   ///< this rank from the peer
};

struct BoundStep {
    plan::StepKind kind = {};
    std::uint8_t flags = 0;
    bool in_cell = false;  ///< put of a program with bulk payloads: this one travels in its cell
    std::uint16_t lag = 0;
    Rank peer = plan::kNoRank;  ///< team rank
    std::uint32_t number = 0;   ///< slot, signal or cell number; loop: steps of the body
    std::uint32_t operands =
        0;  ///< reduce; expose: which of the program's exposes this is; loop: how often
    /// Put, wait: hash of what only the two ends know about the message; part of its flag. 0: none.
    std::uint16_t salt = 0;
    PieceList target = {};
    PieceList source = {};  ///< reduce: operands one after the other, equally many pieces each
};

/// What the steps of a program touch of one of the caller's buffers, in bytes from the start of the
/// vector, and whether node-mates get at it.
struct TouchedBuffer {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool gaps = false;  ///< some of it may belong to others: blocks have displacements of their own
    bool exposed = false;
    base::Access access = base::Access::read;  ///< of mates
    base::Copies copies;                       ///< by mates, if the kernel has to make them

    [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
    void add(std::uint64_t from, std::uint64_t to);
    /// Of both buffers, where they are the same memory.
    [[nodiscard]] TouchedBuffer joined(const TouchedBuffer& other) const;
};

struct BoundProgram {
    plan::Program program;         ///< what it was bound from, for reports
    std::string description;       ///< the call as text, for reports of disagreements
    base::CallHash call_hash = 0;  ///< of everything that ranks must agree about; not 0
    plan::Partition partition{0, 1};
    /// Where blocks of an uneven vector start in the caller's memory; empty: as the partition has
    /// it.
    std::vector<std::uint64_t> input_starts;
    std::vector<std::uint64_t> output_starts;
    std::uint64_t elements = 0;
    std::uint32_t element_bytes = 1;
    bool synchronizing = false;
    bool bulk = false;  ///< payloads go to bulk banks, not into cells
    /// Namely to these: the smallest that all slots fit.
    std::uint8_t bulk_class = base::kSmallClasses;
    std::uint32_t segments = 1;
    std::uint32_t depth = 1;
    std::uint64_t slot_bytes = 0;  ///< the largest slot in a bulk bank
    std::vector<std::uint64_t>
        slot_starts;  ///< of slots of different sizes: where each starts, and
                      ///< the end; empty: slot_bytes from each to the next
    /// Where published slots start in a bulk bank: each rank reads those of others in place.
    std::uint64_t published_start = 0;
    std::uint64_t scratch_bytes = 0;  ///< all scratch vectors together, as far as steps touch them
    TouchedBuffer touched_scratch;    ///< what they touch of any
    /// The scratch vector that lies in the output, unless that is the input, too; none: kNone.
    std::uint32_t scratch_in_output = kNone;
    /// The one that is a copy of the input and stays one: it is the input, unless that is the
    /// output, too.
    std::uint32_t scratch_in_input = kNone;
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<BoundStep> steps;
    std::vector<plan::Lane> lanes;
    /// By lane of a program that exposes: from this step on it only waits for node-mates.
    std::vector<std::uint32_t> tails;
    std::vector<Piece> pieces;
    std::uint32_t pieces_max = 0;  ///< longest list of one step
    std::uint32_t exposes = 0;     ///< expose steps
    TouchedBuffer touched_input;
    TouchedBuffer touched_output;
    /// What the ranks of this node touch of all their vectors, if they all touch as much as this.
    std::uint64_t node_bytes = 0;
    FusedProgram fused;             ///< empty if the steps do not have that form
    std::vector<PairCounts> pairs;  ///< of calls whose counts only the two ends of a message know

    /// Whether a buffer's blocks have displacements of their own.
    [[nodiscard]] bool has_displacements(plan::Buffer buffer) const {
        return (buffer == plan::Buffer::input && !input_starts.empty()) ||
               (buffer == plan::Buffer::output && !output_starts.empty());
    }
    /// The element of a vector that a unit starts at.
    [[nodiscard]] std::uint64_t place(plan::Buffer buffer, std::uint32_t unit) const {
        if (!has_displacements(buffer)) return partition.begin(unit);
        return partition.place(unit, buffer == plan::Buffer::input ? input_starts : output_starts);
    }
    /// Where a copy of a slot lies in a bulk bank.
    [[nodiscard]] std::uint64_t slot_offset(std::uint32_t number, std::uint32_t copy) const {
        if (slot_starts.empty()) return (std::uint64_t{number} * depth + copy) * slot_bytes;
        const std::uint64_t start = slot_starts[number];
        return start + copy * ((slot_starts[number + 1] - start) / depth);
    }
    /// Where the last waits of a lane begin. One for a far rank does not count as such: what is on
    /// its way there needs this rank's calls. near: as in BindOptions.
    [[nodiscard]] std::uint32_t tail_of(const plan::Lane& lane,
                                        const std::vector<bool>* near) const;
    /// The slot (number * depth + copy) that an offset in a bulk bank lies in.
    [[nodiscard]] std::uint32_t slot_at(std::uint64_t offset) const;
};

}  // namespace weft::run
