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

namespace weft::run {

using RealEngine = Engine<link::Wire>;

class Runtime;

/// The memory of a call. input may be the output exactly (in place).
struct Buffers {
    const void* input = nullptr;
    void* output = nullptr;
};

class Team {
  public:
    Team(Runtime& runtime, std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick,
         PlanContext context);

    [[nodiscard]] Rank rank() const { return state_->setup.rank; }
    [[nodiscard]] Rank size() const { return state_->size(); }
    [[nodiscard]] std::uint32_t id() const { return state_->setup.id; }
    [[nodiscard]] int nodes() const { return nodes_; }
    [[nodiscard]] TeamState& state() const { return *state_; }

    /// One blocking call.
    [[nodiscard]] base::Result<void> call(const CallShape& shape, Buffers buffers) {
        const auto plan = plans_.find(shape);
        if (!plan) return plan.failure();
        if (auto checked = check_buffers(shape, buffers); !checked) return checked;
        if (engine_.run(*state_, (*plan)->program, registers(buffers), (*plan)->reducer)) return {};
        return engine_.failure();
    }

    /// Starts a call; never waits. The operation belongs to the caller until Engine::release.
    [[nodiscard]] base::Result<Operation*> start(const CallShape& shape, Buffers buffers);

    /// Collective: members with the same colour form a team, ordered by key, then rank. Returns
    /// nullptr where colour < 0. Fails if no region is free on all members.
    [[nodiscard]] base::Result<Team*> split(int color, int key);
    /// Collective: ends the team. No call may be in flight.
    [[nodiscard]] base::Result<void> release();

    base::Result<void> force(Kind kind, std::string_view spec) { return plans_.force(kind, spec); }
    [[nodiscard]] PlanCache& plans() { return plans_; }

  private:
    struct Entry;

    [[nodiscard]] static Registers registers(Buffers buffers) {
        return {static_cast<const std::byte*>(buffers.input),
                static_cast<std::byte*>(buffers.output)};
    }
    [[nodiscard]] static base::Result<void> check_buffers(const CallShape& shape, Buffers buffers) {
        if (shape.elements == 0 || (buffers.input == buffers.output && buffers.input != nullptr))
            return {};
        return check_separate_buffers(shape, buffers);
    }
    [[nodiscard]] static base::Result<void> check_separate_buffers(const CallShape& shape,
                                                                   Buffers buffers);

    Runtime& runtime_;
    RealEngine& engine_;
    PlanCache plans_;
    int nodes_;
    TeamState* state_ = nullptr;
};

}  // namespace weft::run
