// SPDX-License-Identifier: BSD-3-Clause
// operation.hpp - one call in flight: a bound program plus what differs from call to call.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/reach.hpp"
#include "base/region.hpp"
#include "base/result.hpp"
#include "plan/schedule/cursor.hpp"
#include "run/bind/bound_program.hpp"
#include "run/execute/recorder.hpp"
#include "run/execute/window.hpp"
#include "run/reduce/reduce.hpp"

namespace weft::run {

using base::Digest;
using base::flag_hash;

/// The memory of one call. input and output may be the same.
struct Registers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
};

/// How far one lane has come.
struct LaneState : plan::Cursor {
    std::uint64_t resume = 0;           ///< belongs to the wire while a put is half posted
    const std::byte* packed = nullptr;  ///< the source of the put that is tried, if it was copied
    std::uint64_t tried_ns = 0;         ///< since when the step cannot be done, if recorded
};

/// What ranks have done with each other's memory, by way.
struct MappedBytes {
    std::array<std::uint64_t, base::kWays> read{};     ///< bytes of mates, by steps of this rank
    std::array<std::uint64_t, base::kWays> written{};  ///< bytes of mates, by steps of this rank
    std::array<std::uint64_t, base::kWays> buffers{};  ///< of this rank, each call's own
    std::array<std::uint64_t, base::kWays> exposed{};  ///< bytes of these
};

struct TeamState;

struct Operation {
    enum class State : std::uint8_t {
        queued,
        running,
        trailing,  ///< has only to wait for mates that use copies: nothing is left for its caller
        failing,   ///< has failed, and transfers still read its buffers
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
    Window* bulk = nullptr;  ///< that of the bulk banks it takes a number of, if of any
    Epoch bulk_epoch = -1;   ///< that number
    base::Tick tick = 0;
    Digest digest = 0;  ///< of the team's calls up to this one
    std::uint32_t bank = 0;
    std::uint64_t bulk_offset = 0;  ///< of its bulk bank, from the start of the region
    std::uint32_t pending = 0;      ///< transfers that still read their source
    std::vector<LaneState> lanes;
    std::vector<std::byte> scratch;  ///< kept between uses, so steady state does not allocate
    /// Sources of puts that only the kernel reaches, copied here; kept likewise.
    std::vector<std::vector<std::byte>> packed;
    std::size_t packed_used = 0;
    /// The caller's buffers while node-mates may get at them; the registers point to their aliases.
    std::vector<base::Exposure> exposures;
    /// Payloads of exposes, by step and segment: puts read them as late as any other source.
    std::vector<base::Reach> exposed;
    base::Failure failure;    ///< if state is failed
    Recorder::Open recorded;  ///< if the engine has a recorder

    /// All steps are done, and transfers still read their sources.
    [[nodiscard]] bool ends_with_its_puts() const {
        return pending != 0 &&
               std::ranges::all_of(lanes, [](const LaneState& lane) { return lane.ended(); });
    }
    /// Nothing is left to do, nor to wait for.
    [[nodiscard]] bool over() const { return state == State::complete || state == State::failed; }
    /// For its caller, whose buffers no rank uses any more.
    [[nodiscard]] bool ended() const { return over() || state == State::trailing; }
};

/// In a handler: the failure of a call whose operation of the user threw.
[[nodiscard]] base::Failure failure_of_user(const BoundProgram& program);

}  // namespace weft::run
