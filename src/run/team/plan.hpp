// SPDX-License-Identifier: BSD-3-Clause
// plan.hpp - everything that a call is bound to: its program, its kernel, and its memory.
//
// Idea     A plan is made once for calls that differ in their memory only. A program is
//          generated at most a few times: the number of segments of a long buffer follows from
//          the program with two.
// Holds    A plan keeps the data of its call: arrays of counts, and the user's operation. So no
//          other operation can have the same address while the plan lives.
// Next     plan_cache.hpp for the owner of plans; run/bind/bind.hpp for programs and sizes.
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
#include "plan/select/tuning.hpp"
#include "run/bind/bound_program.hpp"
#include "run/execute/operation.hpp"
#include "run/team/call.hpp"

namespace weft::run {

struct BindOptions;

/// An algorithm, parsed and as text.
struct ChosenAlgorithm {
    collectives::AlgorithmSpec spec;
    std::string text;
    std::string reason;  ///< reason of the choice, for users
};

/// Properties of a team that its plans depend on.
struct PlanContext {
    Rank rank = 0;
    Rank size = 1;
    int nodes = 1;                         ///< nodes of the team
    plan::Layout layout;                   ///< nodes of the members; equal on all ranks
    plan::Machine machine;                 ///< costs of puts here; equal on all ranks
    const plan::Tuning* tuning = nullptr;  ///< measured choices; equal on all ranks
    std::string provider;                  ///< of the network
    std::vector<bool> near;                ///< by team rank: shares memory with this rank
    base::RegionShape region;
    std::string name;                ///< of the team, in the log
    const base::Log* log = nullptr;  ///< may be null
};

/// Memory that a call with counts reads and writes, relative to the caller's pointers.
struct BlockMemory {
    Extents input;
    Extents output;
    std::uint64_t own_in = 0;  ///< start of the own block in the caller's input, in bytes
    std::uint64_t own_out = 0;
};

/// Blocks and method of an exchange with the neighbors of a stencil. The exchange is an alltoallv
/// without counts; its `count` is that of each block.
struct Neighborhood {
    std::shared_ptr<const collectives::Stencil> stencil;
    collectives::NeighborData data = collectives::NeighborData::own;
    collectives::NeighborWay way = collectives::NeighborWay::direct;

    friend bool operator==(const Neighborhood&, const Neighborhood&) = default;
};

struct Plan {
    Call call;  ///< with its own arrays, without buffers
    std::string algorithm;
    Purpose purpose = Purpose::itself;
    BoundProgram program;
    Reducer reducer;
    Extent input;  ///< part of the whole buffer that the caller's pointer refers to, in bytes
    Extent output;
    std::unique_ptr<const BlockMemory> blocks;  ///< of calls with counts
    Neighborhood neighborhood;                  ///< without a stencil: call of all members
    mutable Epoch used = -1;                    ///< no later call of the team has used it

    /// Returns the approximate size of the plan in memory, in bytes.
    [[nodiscard]] std::size_t bytes() const;
    /// Returns true if this is the plan of the call.
    [[nodiscard]] bool serves(const Call& other) const { return have_equal_plans(call, other); }
    /// Returns the starts of the whole buffers, from the caller's pointers. Null stays null.
    [[nodiscard]] Registers registers(const Call& given) const {
        return {before(given.in, input.offset), before(given.out, output.offset)};
    }
    /// Returns true if a call may use this memory: it is not null, and no input is overwritten.
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
    /// Returns the reason why accepts() returned false.
    [[nodiscard]] base::Failure refusal(const Registers& memory) const;

  private:
    [[nodiscard]] static std::byte* before(const void* part, std::uint64_t offset) {
        const auto address = reinterpret_cast<std::uintptr_t>(part);
        return reinterpret_cast<std::byte*>(address == 0 ? 0 : address - offset);
    }
    [[nodiscard]] bool accepts_blocks(const Registers& memory) const;
};

/// Makes the plan of a call whose arguments have been checked. Ranks may read published data of
/// local peers in place, except in the last call of a team. A peer's region may serve another team
/// before a late reader has finished.
[[nodiscard]] base::Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                                            const ReduceTable& kernels,
                                                            const Call& call,
                                                            const ChosenAlgorithm& algorithm,
                                                            Purpose purpose);

/// Makes the plan of an exchange whose arguments have been checked (stencil_exchange.cpp).
[[nodiscard]] base::Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                                            const Call& call,
                                                            const Neighborhood& neighborhood);

/// Returns the program with the number of segments that the team's put targets need. Most buffers
/// need one. For a long buffer, a program of two segments gives the number.
[[nodiscard]] base::Result<plan::Program> program_in_segments(
    const std::function<base::Result<plan::Program>(std::uint32_t segments)>& generate,
    const BindOptions& options);

/// Returns the size above which reading a message in place, with a notice, is faster than copying
/// it to a put target and back. Equal on all ranks. Returns the largest number if ranks cannot
/// read in place.
[[nodiscard]] std::uint64_t mapped_bytes_min(const plan::Machine& machine);

}  // namespace weft::run
