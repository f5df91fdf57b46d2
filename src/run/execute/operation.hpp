// SPDX-License-Identifier: BSD-3-Clause
// operation.hpp - one call in flight: a bound program and the data of this call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
struct LaneState : plan::Cursor {
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
    std::vector<LaneState> lanes;
    std::vector<std::byte> scratch;  ///< kept between uses, so that steady state does not allocate
    /// Copies of sources that only the kernel reaches. Kept between uses.
    std::vector<std::vector<std::byte>> packed;
    std::size_t packed_used = 0;
    /// The caller's buffers while peers may access them. The registers point to their aliases.
    std::vector<base::Exposure> exposures;
    /// Payloads of exposes, by step and segment. They stay unchanged until their puts
    /// have read them.
    std::vector<base::Reach> exposed;
    base::Failure failure;    ///< valid if state is failed
    Recorder::Open recorded;  ///< valid if the engine has a recorder

    /// Returns true if all steps are done, and transfers still read their sources.
    [[nodiscard]] bool ends_with_its_puts() const {
        return pending != 0 &&
               std::ranges::all_of(lanes, [](const LaneState& lane) { return lane.ended(); });
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

}  // namespace weft::run
