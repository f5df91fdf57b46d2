// SPDX-License-Identifier: BSD-3-Clause
// operation.hpp - one call in flight: a bound program and the data of this call; and the pool of
// operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
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

/// Buffers of one call. input and output may be equal.
struct Registers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
};

/// Position of one lane.
struct LaneCursor : plan::Cursor {
    std::uint64_t resume = 0;           ///< belongs to the wire while a put is partly posted
    const std::byte* packed = nullptr;  ///< source of the current put, if it was copied
    std::uint64_t tried_ns = 0;  ///< time of the first failed attempt at the step, if recorded
};

struct TeamState;

struct Operation {
    enum class State : std::uint8_t {
        queued,
        running,
        trailing,  ///< done for its caller; waits only for peers that use copies of its buffers
        failing,   ///< has failed, but transfers still read its buffers
        complete,
        failed,
    };

    TeamState* team = nullptr;
    const BoundProgram* program = nullptr;
    Registers registers;
    Reducer reducer;
    State state = State::queued;
    bool detached = false;  ///< the caller has released it: recycled when it ends
    Epoch epoch = 0;
    Window* bulk = nullptr;  ///< window of its bulk banks, if it uses any
    Epoch bulk_epoch = -1;   ///< its number in that window
    base::Tick tick = 0;
    Digest digest = 0;  ///< covers the team's calls up to this one
    std::uint32_t bank = 0;
    std::uint64_t bulk_offset = 0;  ///< of its bulk bank, from the start of the region
    std::uint32_t pending = 0;      ///< transfers that still read their source
    std::vector<LaneCursor> lanes;
    std::vector<std::byte> scratch;  ///< kept between uses, so that steady state does not allocate
    /// Copies of sources that only the kernel reaches. Kept between uses.
    std::vector<std::vector<std::byte>> packed;
    std::size_t packed_used = 0;
    /// The caller's buffers while peers may access them. The registers point to their aliases.
    std::vector<base::Exposure> exposures;
    /// Payloads of exposes, by step and segment, unchanged until their puts have read them.
    std::vector<base::Reach> exposed;
    base::Failure failure;    ///< valid if state is failed
    Recorder::Open recorded;  ///< valid if the engine has a recorder

    /// Returns the number in a bank of the cell that a segment of a step uses.
    [[nodiscard]] std::uint32_t cell_number(std::uint32_t number, std::uint32_t segment) const {
        return number * program->depth + segment % program->depth;
    }
    /// Returns the offset of its slot in the region.
    [[nodiscard]] std::uint64_t slot_offset(std::uint32_t number, std::uint32_t segment) const {
        return bulk_offset + program->slot_offset(number, segment % program->depth);
    }
    /// Returns true if all steps are done, and transfers still read their sources.
    [[nodiscard]] bool ends_with_its_puts() const {
        return pending != 0 &&
               std::ranges::all_of(lanes, [](const LaneCursor& lane) { return lane.ended(); });
    }
    /// Returns true if nothing remains to be done or awaited.
    [[nodiscard]] bool over() const { return state == State::complete || state == State::failed; }
    /// Returns true if the call has ended for its caller: no rank uses the caller's buffers.
    [[nodiscard]] bool ended() const { return over() || state == State::trailing; }
};

/// Returns the kind of a program's calls, for the recorder. Valid while the program exists.
[[nodiscard]] inline RecordedCall recorded_call(const BoundProgram& program) {
    return {.program = &program,
            .collective = program.program.collective,
            .algorithm = program.program.algorithm,
            .description = program.description,
            .bytes = program.elements * program.element_bytes};
}

/// Returns the failure of a call whose user operation threw. Call it in the handler.
[[nodiscard]] base::Failure failure_of_user(const BoundProgram& program);

/// Reuses operations, so that steady state does not allocate.
class OperationPool {
  public:
    [[nodiscard]] Operation& take() {
        if (free_.empty()) free_.push_back(&all_.emplace_back());
        Operation& op = *free_.back();
        free_.pop_back();
        op.state = Operation::State::queued;
        op.detached = false;
        op.pending = 0;
        return op;
    }
    /// Recycles an operation, unless it has transfers in flight: the wire still refers to it.
    void give(Operation& op) {
        if (op.pending == 0) free_.push_back(&op);
    }
    /// Returns true if transfers of the team's operations are in flight.
    [[nodiscard]] bool has_transfers(const TeamState& team) const {
        return std::ranges::any_of(
            all_, [&](const Operation& op) { return op.team == &team && op.pending != 0; });
    }

  private:
    std::deque<Operation> all_;
    std::vector<Operation*> free_;
};

}  // namespace weft::run
