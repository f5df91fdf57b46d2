// SPDX-License-Identifier: BSD-3-Clause
// team.hpp - the calls that a team of ranks makes together.
//
// Idea     A call finds its plan by shape and hands it to the engine. Blocking calls let the engine
//          choose the short way; started ones return an operation that any later call drives.
// Holds    Arguments are checked before anything is numbered, so a refused call changes nothing.
//          Members call in the same order.
// Next     plans.hpp for what a plan is; run/execute/engine.hpp for how it runs.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "link/wire/wire.hpp"
#include "run/execute/engine.hpp"
#include "run/runtime/plans.hpp"
#include "run/runtime/remote_memory.hpp"

namespace weft::run {

using RealEngine = Engine<link::Wire>;

class Runtime;

/// The memory of a call: a rank's parts of input and output. They may be the same parts of the same
/// vector (in place).
struct Buffers {
    const void* input = nullptr;
    void* output = nullptr;
};

class Team {
  public:
    Team(Runtime& runtime, std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick,
         PlanContext context, std::uint64_t parent);

    [[nodiscard]] Rank rank() const { return state_->setup.rank; }
    [[nodiscard]] Rank size() const { return state_->size(); }
    /// A member's rank in the job.
    [[nodiscard]] Rank job_rank(Rank member) const {
        return state_->setup.job_ranks[static_cast<std::size_t>(member)];
    }
    /// One-sided calls between members.
    [[nodiscard]] RemoteMemory remote() { return {runtime_, *this}; }
    [[nodiscard]] std::uint32_t id() const { return state_->setup.id; }
    [[nodiscard]] int nodes() const { return nodes_; }
    [[nodiscard]] TeamState& state() const { return *state_; }

    /// One blocking call.
    [[nodiscard]] base::Result<void> call(const CallShape& shape, Buffers buffers) {
        const auto plan = find(shape);
        if (!plan) return plan.failure();
        const Registers memory = registers(**plan, buffers);
        if (auto checked = check_buffers(**plan, memory); !checked) return checked;
        if (engine_.run(*state_, (*plan)->program, memory, (*plan)->reducer)) return {};
        return engine_.failure();
    }

    /// Starts a call; never waits. The operation belongs to the caller until Engine::release.
    [[nodiscard]] base::Result<Operation*> start(const CallShape& shape, Buffers buffers);

    /// Whether such a call could be made; makes its plan. Nothing is numbered.
    [[nodiscard]] base::Result<void> prepare(const CallShape& shape, Buffers buffers);

    /// The shape of a call with a root as this rank sees it: without blocks that count at the root only.
    [[nodiscard]] CallShape as_seen(CallShape shape) const {
        if (traits_of(shape.kind).rooted() && shape.root != rank()) shape.in = shape.out = {};
        return shape;
    }

    /// Collective: members with the same colour form a team, ordered by key, then rank. Returns
    /// nullptr where colour < 0. Fails on all members alike if no region is free on all members of one
    /// of the new teams.
    [[nodiscard]] base::Result<Team*> split(int color, int key);
    /// Collective: the members that share memory with this one form a team, in the same order.
    [[nodiscard]] base::Result<Team*> split_node();
    /// Not collective: this rank has no more use for the team. A later split() of its parent ends it
    /// once all its members have said so and none has a call in flight.
    void abandon() { abandoned_ = true; }
    [[nodiscard]] bool abandoned() const { return abandoned_; }
    /// serial() of the team that this one was split from; 0 of the world.
    [[nodiscard]] std::uint64_t parent() const { return parent_; }
    /// The number of the next block that is allocated on the team.
    [[nodiscard]] std::uint64_t next_allocation() { return ++allocations_; }
    /// Tells teams of this rank apart, past ones included; not alike on ranks.
    [[nodiscard]] std::uint64_t serial() const { return serial_; }

    /// Collective: ends the team and frees its memory. No call may be in flight.
    [[nodiscard]] base::Result<void> release();

    /// Collective: memory at the same heap offset on all members; see SymmetricHeap.
    [[nodiscard]] base::Result<std::byte*> allocate(std::uint64_t bytes, std::uint64_t alignment);
    /// Collective, with what allocate() gave.
    [[nodiscard]] base::Result<void> free(const void* memory);
    /// Not collective: freed by a later allocate() of the team once all members have let go.
    void let_go(const void* memory);
    /// A member's memory of the same name, if it is near, else nullptr.
    [[nodiscard]] std::byte* on_member(const void* memory, Rank member) const;

    base::Result<void> force(Kind kind, std::string_view spec) { return plans_.force(kind, spec); }
    [[nodiscard]] PlanCache& plans() { return plans_; }

  private:
    struct Entry;

    [[nodiscard]] base::Result<std::vector<Entry>> exchange(const Entry& mine);
    [[nodiscard]] base::Result<std::vector<Entry>> gather_entries(int color, int key);
    [[nodiscard]] base::Result<void> end_abandoned(const std::vector<Entry>& entries);
    [[nodiscard]] bool all_abandoned(const std::vector<Entry>& entries, const Team& child) const;
    [[nodiscard]] static base::Result<void> check_regions(const std::vector<Entry>& entries);

    /// Where the vectors would start that the caller's parts belong to; null stays null.
    [[nodiscard]] static Registers registers(const Plan& plan, Buffers buffers) {
        const auto start = [](const void* part, std::uint64_t offset) {
            const auto address = reinterpret_cast<std::uintptr_t>(part);
            return reinterpret_cast<std::byte*>(address == 0 ? 0 : address - offset);
        };
        return {start(buffers.input, plan.input.offset), start(buffers.output, plan.output.offset)};
    }
    [[nodiscard]] static base::Result<void> check_buffers(const Plan& plan, Registers memory) {
        if (plan.blocks != nullptr) return check_blocks(plan, memory);
        if (plan.shape.elements == 0 || (memory.input == memory.output && memory.input != nullptr))
            return {};
        return check_separate_buffers(plan, memory);
    }
    [[nodiscard]] static base::Result<void> check_separate_buffers(const Plan& plan,
                                                                   Registers memory);
    [[nodiscard]] static base::Result<void> check_blocks(const Plan& plan, Registers memory);
    /// The plan of the next call.
    [[nodiscard]] base::Result<const Plan*> find(const CallShape& shape) {
        return traits_of(shape.kind).has_counts() ? find_with_counts(shape) : plans_.find(shape);
    }
    [[nodiscard]] base::Result<const Plan*> find_with_counts(const CallShape& shape);

    Runtime& runtime_;
    RealEngine& engine_;
    PlanCache plans_;
    int nodes_;
    TeamState* state_ = nullptr;
    std::uint64_t parent_;
    std::uint64_t serial_;
    std::uint64_t allocations_ = 0;
    bool abandoned_ = false;
};

}  // namespace weft::run
