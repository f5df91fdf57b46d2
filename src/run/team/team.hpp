// SPDX-License-Identifier: BSD-3-Clause
// team.hpp - the calls that a team of ranks makes together.
//
// Idea     A call is compared with the last one of its collective. If all arguments are equal, the
//          last checks are still valid. If more than its memory differs, its plan is looked up or
//          made. The plan is passed to the engine. Blocking calls may take the engine's fused path.
//          Started calls return an operation that any later call drives.
// Holds    Arguments are checked before a call is numbered, so a refused call changes nothing. All
//          members make their calls in the same order.
// Next     plan.hpp for plans; run/execute/engine.hpp for their execution; teams.hpp for a rank's
//          teams.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "run/execute/team_state.hpp"
#include "run/job/engine_progress.hpp"
#include "run/job/job.hpp"
#include "run/job/layout.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/plan_cache.hpp"

namespace weft::run {

class RealEngine;
class RealOneSided;

/// Parts of a runtime that teams use.
struct TeamServices {
    const base::Settings& settings;
    const base::Log& log;
    const Job& job;
    const SegmentLayout& layout;
    const MeasuredFiles& measured;
    const ReduceTable& kernels;
    Recorder* recorder;  ///< nullptr: calls are not recorded
    RealEngine& engine;
    RealOneSided& onesided;
    EngineProgress& progress;
};

/// How this rank stops using a team; see Teams.
struct Departure {
    /// This rank makes no more calls, but has not left. A later split of a team with all members
    /// ends the team, once all of them have abandoned it and have no call in flight. Read by
    /// threads that make teams.
    std::atomic<bool> abandoned{false};
    bool left = false;       ///< this rank does not wait for the other members
    bool announced = false;  ///< all members are notified that this rank has left
};

class Team {
  public:
    /// `serial` is unique among this rank's teams, past ones included.
    Team(const TeamServices& services, std::uint64_t serial, std::uint32_t id,
         std::vector<Rank> job_ranks, base::Tick first_tick, PlanContext context);

    [[nodiscard]] Rank rank() const { return state_->setup.rank; }
    [[nodiscard]] Rank size() const { return state_->size(); }
    /// Returns a member's rank in the job.
    [[nodiscard]] Rank job_rank(Rank member) const {
        return state_->setup.job_ranks[static_cast<std::size_t>(member)];
    }
    [[nodiscard]] const TeamServices& services() const { return services_; }
    [[nodiscard]] std::uint32_t id() const { return state_->setup.id; }
    [[nodiscard]] int nodes() const { return nodes_; }
    [[nodiscard]] TeamState& state() const { return *state_; }

    /// The plan of the last call of a collective. If that was a plain call, also its memory.
    struct LastCall {
        const Plan* plan = nullptr;  ///< nullptr: no such call
        const void* in = nullptr;
        void* out = nullptr;
        Registers memory;
        bool is_ready = false;  ///< the plan accepts this memory
    };
    /// Returns the last call if it had these arguments, else nullptr. `call` may be invalid.
    [[nodiscard]] const LastCall* repeated(const Call& call) const {
        if (!is_plain(call)) return nullptr;
        const LastCall& last = last_[static_cast<std::size_t>(call.collective)];
        if (!last.is_ready) [[unlikely]]
            return nullptr;
        if (call.collective == Collective::barrier) return &last;
        if (last.in != call.in || last.out != call.out) return nullptr;
        return equal_scalars(last.plan->call, call) ? &last : nullptr;
    }
    /// Makes one blocking call. Returns nullptr, or the reason why it failed, valid until the next
    /// call. If the call is part of another call of the interface, ranks identify it by `purpose`.
    [[nodiscard]] const base::Failure* run(const Call& call, Purpose purpose = Purpose::itself);
    /// Makes one exchange with the neighbors of a stencil.
    [[nodiscard]] const base::Failure* run(const Call& call, const Neighborhood& neighborhood);
    /// Makes the same call again.
    [[nodiscard]] const base::Failure* run(const LastCall& last) {
        return run(*last.plan, last.memory);
    }

    /// Starts a call without waiting. The caller owns the operation until
    /// StartedCalls::release().
    [[nodiscard]] base::Result<Operation*> start(const Call& call);

    /// Makes the plan of a call that will be started repeatedly. Returns the call with its own
    /// arrays. Numbers nothing.
    [[nodiscard]] base::Result<Call> prepare(const Call& call);

    [[nodiscard]] bool failed() const { return state_->failed; }
    [[nodiscard]] Departure& departure() { return departure_; }
    /// Fails if a call is in flight. Waits for local peers that read copies of buffers
    /// of ended calls.
    [[nodiscard]] base::Result<void> check_idle() const;
    /// Runs the last barrier of the team. Every member waits in its own region, which is not
    /// reused before.
    [[nodiscard]] base::Result<void> run_last_barrier();

    /// Returns the number of the next block that is allocated on the team.
    [[nodiscard]] std::uint64_t next_allocation() { return ++allocations_; }
    /// Returns a number that is unique among this rank's teams, past ones included. It
    /// differs between ranks.
    [[nodiscard]] std::uint64_t serial() const { return serial_; }

    base::Result<void> force(Collective collective, std::string_view spec) {
        forget_last(collective);
        return plans_.force(collective, spec);
    }
    [[nodiscard]] const PlanCache& plans() const { return plans_; }

  private:
    /// Returns the plan of the next call, if possible that of the last call, and sets
    /// `memory`. If it returns nullptr, failure_ has the reason.
    [[nodiscard]] const Plan* find_plan(const Call& call, Purpose purpose, Registers& memory);
    [[nodiscard]] const Plan* look_up(const Call& call, Purpose purpose,
                                      const Neighborhood* neighborhood = nullptr);
    /// Sets `memory`. Returns the plan if it accepts that memory, else nullptr.
    [[nodiscard]] const Plan* accepted(const Plan* plan, const Call& call, Registers& memory);
    void prepare_cells(std::uint32_t cells);
    void forget_last(Collective collective);
    void make_room();
    /// Runs a call whose memory the plan accepts.
    [[nodiscard]] const base::Failure* run(const Plan& plan, const Registers& memory);

    const TeamServices& services_;
    RealEngine& engine_;
    PlanCache plans_;
    static constexpr std::size_t kCollectives = collectives::kCollectives.size();
    std::array<LastCall, kCollectives> last_{};  ///< by collective
    Recorder* recorder_;                         ///< the runtime's, or nullptr
    base::Failure failure_;
    int nodes_;
    TeamState* state_ = nullptr;
    std::uint64_t serial_;
    std::uint64_t allocations_ = 0;
    Departure departure_;
};

/// Tests and waits of calls that Team::start() has started.
class StartedCalls {
  public:
    explicit StartedCalls(RealEngine& engine) : engine_(engine) {}

    [[nodiscard]] bool ended(const Operation& operation);
    /// Returns true if the call has ended. If not, drives everything once before.
    [[nodiscard]] bool test(const Operation& operation);
    void wait(Operation& operation);
    /// Waits until the call has ended or the deadline has passed. Returns true if it has ended.
    [[nodiscard]] bool wait(Operation& operation, base::Deadline deadline);
    /// Returns the result of an ended call. The operation must not be used after that.
    [[nodiscard]] base::Result<void> finish(Operation& operation);
    /// Ends the caller's use of the operation. The call continues.
    void release(Operation& operation);

  private:
    RealEngine& engine_;
};

}  // namespace weft::run
