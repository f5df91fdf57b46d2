// SPDX-License-Identifier: BSD-3-Clause
// plan.hpp - plan of a call: its program, its reduction kernel, and the checks of its memory.
//
// Idea     A plan is made once for calls that differ only in their buffers. If a buffer exceeds the
//          put targets, a first program with two segments tells how many segments are needed.
// Holds    A plan owns the arrays of counts of its call, and shares ownership of the user's
//          operation. So while the plan lives, the operation's address identifies it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/region.hpp"
#include "collectives/neighborhood/exchange.hpp"
#include "collectives/notation/spec.hpp"
#include "plan/schedule/layout.hpp"
#include "plan/select/machine.hpp"
#include "plan/select/select.hpp"
#include "plan/select/tuning.hpp"
#include "run/bind/bind.hpp"
#include "run/execute/team_state.hpp"
#include "run/team/call.hpp"
#include "run/team/node_choices.hpp"

namespace weft::run {

struct BindOptions;

struct ChosenAlgorithm {
    collectives::AlgorithmSpec spec;
    std::string text;
    std::string reason;  ///< why it was chosen, for the log
};

/// Properties of a team that its plans depend on.
struct PlanContext {
    Rank rank = 0;
    Rank size = 1;
    plan::Layout layout;                   ///< nodes of the members; equal on all ranks
    plan::Machine machine;                 ///< costs of puts; equal on all ranks
    const plan::Tuning* tuning = nullptr;  ///< measured choices, equal on all ranks; may be null
    std::string provider;                  ///< network provider, or "none"
    plan::Preference preference;           ///< equal on all ranks
    std::vector<bool> near;  ///< by team rank: true if it shares memory with this rank
    base::RegionShape region;
    NodeChoices choices;             ///< choices that the ranks of this node share
    std::string name;                ///< name of the team in the log
    const base::Log* log = nullptr;  ///< nullptr: no log
};

/// Memory that a call with counts reads and writes, relative to the caller's pointers.
struct BlockMemory {
    Extents input;
    Extents output;
    std::uint64_t own_in = 0;   ///< offset of this rank's block in the input, in bytes
    std::uint64_t own_out = 0;  ///< offset of this rank's block in the output, in bytes
};

/// Blocks and method of an exchange with the neighbors of a stencil. The Call of such an exchange
/// is an alltoallv without counts; its `count` is the number of elements in each block.
struct Neighborhood {
    std::shared_ptr<const collectives::Stencil> stencil;
    collectives::NeighborData data = collectives::NeighborData::own;
    collectives::NeighborWay way = collectives::NeighborWay::direct;
    friend bool operator==(const Neighborhood&, const Neighborhood&) = default;
};

struct Plan {
    Call call;  ///< with its own arrays, without buffers
    std::string algorithm;
    Purpose purpose = Purpose::user_call;
    BoundProgram program;
    Reducer reducer;
    Extent input;  ///< part of the whole buffer that starts at the caller's pointer, in bytes
    Extent output;
    std::unique_ptr<const BlockMemory> blocks;  ///< nullptr: call without counts
    Neighborhood neighborhood;                  ///< its stencil is null for other calls
    mutable Epoch used = -1;                    ///< last call that may use it; -1: none

    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] bool serves(const Call& other) const { return have_equal_plans(call, other); }
    /// Returns the starts of the whole buffers, `offset` before the caller's pointers, or null.
    [[nodiscard]] Registers registers(const Call& given) const {
        return {before(given.in, input.offset), before(given.out, output.offset)};
    }
    /// Returns true if a call may use these buffers: not null if needed, and equal or disjoint.
    [[nodiscard]] bool accepts(const Registers& memory) const {
        if (blocks != nullptr) return accepts_blocks(memory);
        if (memory.input == memory.output && memory.input != nullptr) return true;
        if (input.bytes > 0 && memory.input == nullptr) return false;
        if (output.bytes > 0 && memory.output == nullptr) return false;
        const std::byte* const in = memory.input + input.offset;
        const std::byte* const out = memory.output + output.offset;
        return input.bytes == 0 || output.bytes == 0 || in >= out + output.bytes ||
               out >= in + input.bytes;
    }
    [[nodiscard]] base::Failure refusal(const Registers& memory) const;

  private:
    [[nodiscard]] static std::byte* before(const void* part, std::uint64_t offset) {
        const auto address = reinterpret_cast<std::uintptr_t>(part);
        return reinterpret_cast<std::byte*>(address == 0 ? 0 : address - offset);
    }
    [[nodiscard]] bool accepts_blocks(const Registers& memory) const;
};

/// Makes the plan of a call whose arguments have been checked. Local peers may read published data
/// in the owner's region, except in the barrier that frees the team (Purpose::team_free): after it,
/// the owner's region may belong to another team before a peer has read it.
[[nodiscard]] base::Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                                            const ReduceTable& kernels,
                                                            const Call& call,
                                                            const ChosenAlgorithm& algorithm,
                                                            Purpose purpose);

/// Makes the plan of an exchange whose arguments have been checked (stencil_exchange.cpp).
[[nodiscard]] base::Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                                            const Call& call,
                                                            const Neighborhood& neighborhood);

/// Returns the failure of a call whose operation is not defined for its type.
[[nodiscard]] base::Failure no_operation(const Call& call, Rank rank);

/// Makes a program with the given number of segments. `one_at_a_time`: segments that the algorithm
/// spec asks for also run one after another (plan/schedule/program.hpp).
using MakeProgram =
    std::function<base::Result<plan::Program>(std::uint32_t segments, bool one_at_a_time)>;

/// Returns the program with the number of segments that the team's put targets require. Segments
/// run one at a time if put targets have no room for several.
[[nodiscard]] base::Result<plan::Program> program_in_segments(const MakeProgram& make,
                                                              const BindOptions& options);

/// Returns the least size of a message, in bytes, that is faster read in place than copied to and
/// from a put target, or the largest integer if no size is. Equal on all ranks.
[[nodiscard]] std::uint64_t mapped_bytes_min(const plan::Machine& machine);

}  // namespace weft::run
