// SPDX-License-Identifier: BSD-3-Clause
// plan.hpp - what a call is bound to: its program, its kernel, and the memory that it touches.
//
// Idea     A plan is made once for each call that differs in more than its memory. A program is
//          generated once: the number of segments that a long vector needs follows from the program
//          of two.
// Holds    A plan keeps what its call refers to: arrays of counts, and a user's operation, whose
//          address no other operation can get while the plan lives.
// Next     plan_cache.hpp for who keeps plans; run/bind/bind.hpp for programs and sizes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/region.hpp"
#include "collectives/notation/spec.hpp"
#include "plan/schedule/layout.hpp"
#include "plan/select/machine.hpp"
#include "plan/select/tuning.hpp"
#include "run/bind/bound_program.hpp"
#include "run/execute/operation.hpp"
#include "run/runtime/blocks.hpp"
#include "run/runtime/call.hpp"

namespace weft::run {

/// An algorithm, parsed and as text.
struct ChosenAlgorithm {
    collectives::AlgorithmSpec spec;
    std::string text;
    std::string reason;  ///< why this one, for people
};

/// A call that outlives the arrays that it was given: it has copies of them.
class HeldCall {
  public:
    explicit HeldCall(const Call& call);
    HeldCall(const HeldCall&) = delete;
    HeldCall& operator=(const HeldCall&) = delete;

    [[nodiscard]] const Call& get() const { return call_; }

  private:
    Call call_;
    std::vector<std::size_t> words_;
};

/// What plans of one team depend on besides the call.
struct PlanContext {
    Rank rank = 0;
    Rank size = 1;
    int nodes = 1;                         ///< over which the team is spread
    plan::Layout layout;                   ///< which node each member is on; the same on all ranks
    plan::Machine machine;                 ///< what puts cost here; the same on all ranks
    const plan::Tuning* tuning = nullptr;  ///< measured choices; likewise
    std::string provider;                  ///< of the network
    std::vector<bool> near;                ///< by team rank: shares memory with this rank
    base::RegionShape region;
    std::string name;                ///< of the team, in the log
    const base::Log* log = nullptr;  ///< may be null
};

/// Of calls with counts: the memory that a call reads and writes, from the caller's pointers on.
struct BlockMemory {
    Extents input;
    Extents output;
    std::uint64_t own_in = 0;  ///< where the own block lies in the caller's input, in bytes
    std::uint64_t own_out = 0;
};

struct Plan {
    HeldCall call;  ///< without memory
    std::string algorithm;
    Purpose purpose = Purpose::itself;
    BoundProgram program;
    Reducer reducer;
    Extent input;  ///< what the caller's pointer points to, as bytes of the vector of the call
    Extent output;
    std::unique_ptr<const BlockMemory> blocks;  ///< of calls with counts
    mutable Epoch used = -1;                    ///< no later call of the team has had it

    /// About how much memory it takes.
    [[nodiscard]] std::size_t bytes() const;
    /// Whether it is a plan of this call.
    [[nodiscard]] bool serves(const Call& other) const {
        const Call& mine = call.get();
        return mine.collective == other.collective && mine.count == other.count &&
               mine.type == other.type && mine.op == other.op && mine.root == other.root &&
               mine.user == other.user && same(mine.in_blocks, other.in_blocks) &&
               same(mine.out_blocks, other.out_blocks);
    }
    /// The same of a plan of a plain call, and of such a call of its collective.
    [[nodiscard]] bool serves(const PlainCall& other) const {
        const Call& mine = call.get();
        return mine.count == other.count && mine.type == other.type && mine.op == other.op &&
               mine.root == other.root;
    }
    /// Where the vectors start that the caller's memory belongs to; null stays null.
    [[nodiscard]] Registers registers(const auto& given) const {
        return {before(given.in, input.offset), before(given.out, output.offset)};
    }
    /// Whether a call may have this memory: it is there, and what is read is not overwritten.
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
    /// Why accepts() refuses.
    [[nodiscard]] base::Failure refusal(const Registers& memory) const;

  private:
    /// By content; in most calls there are none.
    [[nodiscard]] static bool same(const Blocks& a, const Blocks& b) {
        if (a.counts.empty() && b.counts.empty()) return true;
        return compare(a, b) == 0;
    }
    [[nodiscard]] static std::byte* before(const void* part, std::uint64_t offset) {
        const auto address = reinterpret_cast<std::uintptr_t>(part);
        return reinterpret_cast<std::byte*>(address == 0 ? 0 : address - offset);
    }
    [[nodiscard]] bool accepts_blocks(const Registers& memory) const;
};

/// The plan of a call whose arguments have been checked. Ranks may read what near peers publish in
/// place, but not in the last call of a team: a peer's region may serve another team before a late
/// reader has looked.
[[nodiscard]] base::Result<std::unique_ptr<Plan>> make_plan(const PlanContext& context,
                                                            const ReduceTable& kernels,
                                                            const Call& call,
                                                            const ChosenAlgorithm& algorithm,
                                                            Purpose purpose);

}  // namespace weft::run
