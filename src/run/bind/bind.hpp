// SPDX-License-Identifier: BSD-3-Clause
// bind.hpp - binds a program to sizes, in the form that the engine runs.
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
#include "base/result.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"

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

// --- fused form: a list of stores, waits and results (docs/decisions/0015-fused-form.md) ---

/// Values of FusedPlace::base. kFusedRegions + r is the region of team rank r.
inline constexpr std::uint32_t kFusedInput = 0;
inline constexpr std::uint32_t kFusedOutput = 1;
inline constexpr std::uint32_t kFusedScratch = 2;  ///< partial results
inline constexpr std::uint32_t kFusedRegions = 3;

/// Offset that is added in each call, because each call uses other banks.
enum class FusedMove : std::uint32_t {
    none,       ///< 0, for buffers of the call
    cells,      ///< offset of the call's bank of cells
    published,  ///< offset of the call's bank of published cells
    bulk,       ///< offset of the call's bulk bank
};
inline constexpr std::size_t kFusedMoves = 4;

/// Location of data. Its address is the sum of its base (a buffer of the call or the region of a
/// rank), its offset in the first bank, and the offset of its kind of bank.
struct FusedPlace {
    std::uint64_t offset = 0;
    std::uint32_t base = kFusedInput;
    FusedMove move = FusedMove::none;
    friend bool operator==(const FusedPlace&, const FusedPlace&) = default;
};

enum class FusedKind : std::uint8_t {
    raise,    ///< stores a flag without payload
    send,     ///< stores a payload, then its flag
    await,    ///< waits for a flag
    copy,     ///< copies one operand to the target
    combine,  ///< combines two operands
    operand,  ///< operand of the next `reduce`
    reduce,   ///< combines all `operand` steps before it
    end,      ///< end of the program
};

struct FusedStep {
    FusedKind kind = FusedKind::end;
    std::uint16_t stage = 0;  ///< number of the stage, for reports; each result ends a stage
    std::uint16_t salt = 0;   ///< stores, waits: BoundStep::salt
    Rank peer = -1;  ///< team rank. Stores: owner of the cell, -1: published; waits: sender
    std::uint64_t amount = 0;  ///< send, copy: bytes; combine, reduce: elements
    FusedPlace target = {};    ///< stores, waits: the cell; others: the result
    FusedPlace source = {};    ///< data that is read; combine: left operand
    FusedPlace other = {};     ///< send: target of the payload; combine: right operand
};

/// Limit for the scratch memory of a fused program, in bytes. Each team keeps its scratch memory.
inline constexpr std::uint64_t kFusedScratchMax = 16384;

inline constexpr std::size_t kFusedOperands = 64;

/// Teams that may run a program in this form.
enum class FusedTeams : std::uint8_t {
    failed,    ///< value of a failed team: less than the value of every program
    any,       ///< program without puts: it only publishes and reads published data
    one_node,  ///< teams whose members all share memory
    none,      ///< the program has no fused form
};

struct FusedProgram {
    std::vector<FusedStep> steps;  ///< the last step is `end`; empty: no fused form
    /// The steps are a store, a wait, and at most one result, without bulk bank and scratch.
    bool exchange = false;
    FusedTeams teams = FusedTeams::none;  ///< smallest TeamState::fused_limit to run it
    std::uint64_t scratch_bytes = 0;
};

// --- bound programs ---

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
    /// Scratch buffers that use the memory of the output, or of the input of which they are a copy,
    /// unless the call is in place; or kNone.
    std::uint32_t scratch_in_output = kNone;
    std::uint32_t scratch_in_input = kNone;
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<BoundStep> steps;
    std::vector<plan::Lane> lanes;
    std::vector<std::uint32_t> tails;  ///< by lane, if the program exposes memory: see tail_of()
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
    /// Returns the first step of a lane from which on it only waits for local peers: data of remote
    /// ranks arrives only while this rank makes calls. `near`: see BindOptions.
    [[nodiscard]] std::uint32_t tail_of(const plan::Lane& lane,
                                        const std::vector<bool>* near) const;
    /// Sets scratch_in_output and scratch_in_input: copies to or from these then move no data.
    void place_scratch();
};

// --- binding: a program, the sizes of a call and the put targets of a team ---

struct BindOptions {
    std::uint64_t elements = 0;  ///< number of elements in the whole buffer
    std::uint32_t element_bytes = 1;
    base::CallHash call_hash = 0;             ///< see BoundProgram
    std::string description;                  ///< see BoundProgram
    base::RegionShape shape;                  ///< put targets of the team
    const std::vector<bool>* near = nullptr;  ///< by team rank: on this node; nullptr: all are
    bool fuse = true;                         ///< also makes the fused form
    /// The program publishes data (may_publish()); equal on all ranks.
    bool publishes = false;
    /// Starts of blocks in the caller's memory, in elements. Empty: consecutive blocks.
    std::vector<std::uint64_t> input_starts = {};
    std::vector<std::uint64_t> output_starts = {};
};

/// Returns true if plan::localize() may make a program publish data for local peers: all payloads
/// fit into cells or, in a team within a node, a bulk bank has room for published slots, too.
[[nodiscard]] bool may_publish(const plan::Program& program, const BindOptions& options,
                               bool one_node);

/// Returns the bytes of each slot if `slots` slots with `depth` copies divide a bank evenly.
[[nodiscard]] constexpr std::uint64_t even_slot_bytes(const base::RegionShape& shape,
                                                      std::uint32_t slots, std::uint32_t depth) {
    return shape.copied_bytes_max() / (std::uint64_t{slots} * depth) / 64 * 64;
}

/// Returns the number of segments with which a call's payloads fit into a bulk bank; 1 if they fit
/// into cells or, as a whole, into the bank. `program` is the call's program for `segments`
/// segments. Its slots do not depend on that number. The result is equal on all ranks.
[[nodiscard]] std::uint32_t segments_needed(const plan::Program& program, std::uint32_t segments,
                                            const BindOptions& options);
/// Returns true if a bulk bank holds the slots of the program. Equal on all ranks.
[[nodiscard]] bool has_room(const plan::Program& program, const BindOptions& options);
/// Returns true if the slots of a bulk bank hold all payloads of a program with one segment.
[[nodiscard]] bool fits_as_a_whole(const plan::Program& program, BindOptions options);

[[nodiscard]] std::uint32_t banks_for(const plan::Program& program, const BindOptions& options);

/// Binds a program. Fails if it needs more put targets than the team has.
[[nodiscard]] base::Result<BoundProgram> bind(plan::Program program, const BindOptions& options);

/// Returns the fused form of a bound program; empty if the steps do not allow one.
[[nodiscard]] FusedProgram fuse(const BoundProgram& bound, const base::RegionShape& shape);

}  // namespace weft::run
