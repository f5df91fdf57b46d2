// SPDX-License-Identifier: BSD-3-Clause
// operation.hpp - Operation, a call in flight with its program and buffers; pool of operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "base/reach.hpp"
#include "base/region.hpp"
#include "base/result.hpp"
#include "plan/schedule/cursor.hpp"
#include "run/bind/bound_program.hpp"
#include "run/execute/window.hpp"
#include "run/observe/recorder.hpp"
#include "run/reduce/reduce.hpp"

namespace weft::run {

using base::Digest;
using base::flag_hash;

/// Buffers of a call. `input` and `output` may be equal.
struct Registers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
};

/// Position of a lane in its steps.
struct LaneCursor : plan::Cursor {
    std::uint64_t resume = 0;           ///< the wire's state of a put that is partly posted; else 0
    const std::byte* packed = nullptr;  ///< copy of the current put's source; nullptr: none
    std::uint64_t tried_ns = 0;         ///< time of the step's first blocked attempt; 0: none
    std::uint32_t pending = 0;          ///< number of its transfers that still read their source
};

struct TeamState;

/// A call from its start until its end.
struct Operation {
    enum class State : std::uint8_t {
        queued,  ///< waits for its bank
        running,
        draining,  ///< done for its caller; waits only for peers that read copies of its buffers
        failing,   ///< has failed, but transfers still read its buffers
        complete,  ///< final, like the next state
        failed,
    };

    TeamState* team = nullptr;
    const BoundProgram* program = nullptr;
    Registers registers;
    Reducer reducer;
    State state = State::queued;
    bool detached = false;  ///< the caller has released it, so the engine recycles it
    Epoch epoch = 0;
    Window* bulk = nullptr;  ///< window of its bulk banks; nullptr: it uses none
    Epoch bulk_epoch = -1;   ///< number of the call in `bulk`
    base::Tick tick = 0;
    Digest digest = 0;              ///< covers the team's calls up to this one
    std::uint32_t bank = 0;         ///< bank of cells
    std::uint64_t bulk_offset = 0;  ///< offset of its bulk bank in the region
    std::vector<LaneCursor> lanes;
    std::vector<std::byte> scratch;  ///< kept for later calls, which then do not allocate
    /// Copies of sources that only the kernel can read. Kept for later calls.
    std::vector<std::vector<std::byte>> packed;
    std::size_t packed_used = 0;  ///< number of copies in this call
    /// The caller's buffers that peers may access; see Stepper::expose().
    std::vector<base::Exposure> exposures;
    /// Payloads of expose steps, by step and segment. Their puts read them.
    std::vector<base::Reach> exposed;
    base::Failure failure;    ///< valid if state is failed
    Recorder::Open recorded;  ///< valid if the engine has a recorder
    /// Runs once, before the call has ended for its caller, unless the call fails. The function
    /// owns buffers of the call, and must neither throw nor use the engine. May be empty.
    std::function<void()> finish;
    bool finished = false;  ///< `finish` has run

    /// Prepares the first step of each lane.
    void begin() {
        state = State::running;
        lanes.clear();
        for (const plan::Lane& lane : program->lanes)
            lanes.push_back({plan::begin_of(lane, program->segments)});
        if (scratch.size() < program->scratch_bytes) scratch.resize(program->scratch_bytes);
        packed_used = 0;
        const std::size_t payloads = std::size_t{program->exposes} * program->segments;
        if (exposed.size() < payloads) exposed.resize(payloads);
    }
    /// Returns a hash of the state and of the lanes' positions: it changes when a lane advances.
    [[nodiscard]] std::uint64_t position_hash() const {
        std::uint64_t hash = static_cast<std::uint64_t>(state);
        for (const LaneCursor& lane : lanes)
            hash = 31 * (31 * (31 * hash + lane.at) + lane.segment) + lane.resume;
        return hash;
    }

    void run_finish() {
        if (finish && !std::exchange(finished, true)) finish();
    }

    /// Returns the index in a bank of the cell that a step with this number uses for a segment.
    [[nodiscard]] std::uint32_t cell_number(std::uint32_t number, std::uint32_t segment) const {
        return number * program->depth + segment % program->depth;
    }
    /// Returns the offset in the region of the slot that the step uses for a segment.
    [[nodiscard]] std::uint64_t slot_offset(std::uint32_t number, std::uint32_t segment) const {
        return bulk_offset + program->slot_offset(number, segment % program->depth);
    }
    /// Returns true if transfers still read their sources.
    [[nodiscard]] bool has_transfers() const {
        return std::ranges::any_of(lanes, [](const LaneCursor& lane) { return lane.pending != 0; });
    }
    /// Returns true if all steps are done but transfers still read their sources.
    [[nodiscard]] bool waits_only_for_puts() const {
        return has_transfers() &&
               std::ranges::all_of(lanes, [](const LaneCursor& lane) { return lane.ended(); });
    }
    [[nodiscard]] bool is_final() const { return state >= State::complete; }
    /// Returns true if the call has ended for its caller: no rank uses the caller's buffers.
    [[nodiscard]] bool ended() const { return is_final() || state == State::draining; }
};

/// Returns the recorder's description of a program's calls. Valid while the program exists.
[[nodiscard]] inline RecordedCall recorded_call(const BoundProgram& program) {
    return {.program = &program,
            .collective = program.program.collective,
            .algorithm = program.program.algorithm,
            .description = program.description,
            .bytes = program.elements * program.element_bytes};
}

/// Returns the failure of a call whose user operation threw. Must be called in the catch handler.
[[nodiscard]] base::Failure failure_of_user(const BoundProgram& program);

/// Reuses operations, so that repeated calls do not allocate.
class OperationPool {
  public:
    [[nodiscard]] Operation& take() {
        if (free_.empty()) free_.push_back(&all_.emplace_back());
        Operation& op = *free_.back();
        free_.pop_back();
        op.state = Operation::State::queued;
        op.detached = false;
        op.finish = nullptr;
        op.finished = false;
        return op;
    }
    /// Recycles an operation, unless transfers are in flight: the wire may still write to it.
    void recycle(Operation& op) {
        if (!op.has_transfers()) free_.push_back(&op);
    }
    /// Returns true if transfers of the team's operations are in flight.
    [[nodiscard]] bool has_transfers(const TeamState& team) const {
        return std::ranges::any_of(
            all_, [&](const Operation& op) { return op.team == &team && op.has_transfers(); });
    }

  private:
    std::deque<Operation> all_;
    std::vector<Operation*> free_;
};

}  // namespace weft::run
