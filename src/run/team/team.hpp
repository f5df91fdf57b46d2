// SPDX-License-Identifier: BSD-3-Clause
// team.hpp - collective calls of a team.
//
// Idea     A call is compared with the last call of its collective. If all arguments are equal, the
//          plan and the check of its buffers are reused; if only the buffers differ, the plan.
//          Otherwise the plan is taken from the cache or made. The engine executes the plan, if
//          possible by its fused path. A started call returns an operation that later calls drive.
// Holds    A refused call has no effect. All members make their calls in the same order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "run/execute/team_state.hpp"
#include "run/job/engine_progress.hpp"
#include "run/job/job.hpp"
#include "run/job/layout.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/exact_call.hpp"
#include "run/team/plan_cache.hpp"

namespace weft::run {

class RealEngine;
class RealOneSided;

/// Parts of a runtime that teams use. The runtime owns them.
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

/// State of a team that this rank has stopped using; see Teams.
struct Departure {
    /// The program has dropped its handle without Teams::leave(). When all members have abandoned
    /// the team, the next split, maybe by another thread, of a team that contains them ends it.
    std::atomic<bool> abandoned{false};
    bool left = false;       ///< this rank has left, see Teams::leave()
    bool announced = false;  ///< this rank has notified all members that it has left
};

class Team {
  public:
    /// `serial`: see serial(). `id` is the number of the team's region.
    Team(const TeamServices& services, std::uint64_t serial, std::uint32_t id,
         std::vector<Rank> job_ranks, base::Tick first_tick, PlanContext context);

    [[nodiscard]] Rank rank() const { return state_->setup.rank; }
    [[nodiscard]] Rank size() const { return state_->size(); }
    /// Returns the number of members, or 0 if the team has failed; see TeamState.
    [[nodiscard]] Rank unchecked_peers() const {
        return state_->unchecked_peers.load(std::memory_order_relaxed);
    }
    [[nodiscard]] Rank job_rank(Rank member) const { return state_->setup.job_ranks[member]; }
    [[nodiscard]] const TeamServices& services() const { return services_; }
    [[nodiscard]] std::uint32_t id() const { return state_->setup.id; }
    [[nodiscard]] int nodes() const { return nodes_; }
    [[nodiscard]] TeamState& state() const { return *state_; }

    /// The last call of a collective. The buffers are kept only for plain calls (is_plain()).
    struct LastCall {
        const Plan* plan = nullptr;  ///< nullptr: no call to compare with
        const void* in = nullptr;    ///< the caller's pointers
        void* out = nullptr;
        Registers memory;
        bool is_ready = false;  ///< buffers are set, and the plan accepts them
    };
    /// Returns the last call if it had equal arguments, else nullptr. `call` may be invalid.
    [[nodiscard]] const LastCall* repeated(const Call& call) const {
        if (!is_plain(call)) return nullptr;
        const LastCall& last = last_[static_cast<std::size_t>(call.collective)];
        if (!last.is_ready) [[unlikely]]
            return nullptr;
        if (call.collective == Collective::barrier) return &last;
        if (last.in != call.in || last.out != call.out) return nullptr;
        return equal_scalars(last.plan->call, call) ? &last : nullptr;
    }
    /// Makes a blocking call. Returns nullptr on success, else the failure, valid until the next
    /// call. `purpose`: the library's function that makes the call, or Purpose::user_call.
    [[nodiscard]] const base::Failure* run(const Call& call, Purpose purpose = Purpose::user_call);
    [[nodiscard]] const base::Failure* run(const Call& call, const Neighborhood& neighborhood);
    [[nodiscard]] const base::Failure* run(const LastCall& last) {
        return run(*last.plan, last.memory);
    }

    /// Starts a call. The caller must call EngineProgress::finish() or release().
    [[nodiscard]] base::Result<Operation*> start(const Call& call);

    /// Makes the plan of a call for repeated starts. Returns the call with its own arrays.
    [[nodiscard]] base::Result<Call> prepare(const Call& call);

    [[nodiscard]] bool failed() const { return unchecked_peers() == 0; }  // from any thread
    [[nodiscard]] Departure& departure() { return departure_; }
    /// Waits until peers have read the buffers of ended calls, then fails if a call is in flight.
    [[nodiscard]] base::Result<void> check_idle() const;
    /// Runs the team's last barrier. After its return this rank may reuse the team's region.
    [[nodiscard]] base::Result<void> run_free_barrier();

    /// Returns the number, from 1, of the next allocation or registration; equal on all members.
    [[nodiscard]] std::uint64_t next_allocation() { return ++allocations_; }
    /// Returns the tick of the next agreement; equal on all members.
    [[nodiscard]] base::Tick next_agreement() {
        ++agreements_;
        return last_agreement_tick() & base::kTickMask;
    }
    /// Returns the tick of the last agreement, or the team's first tick; not masked.
    [[nodiscard]] base::Tick last_agreement_tick() const {
        return state_->setup.first_tick + agreements_;
    }
    /// Returns a number that is unique among all teams of this rank; may differ between ranks.
    [[nodiscard]] std::uint64_t serial() const { return serial_; }
    base::Result<void> force(Collective collective, std::string_view spec) {
        forget_last(collective);
        return plans_.force(collective, spec);
    }
    [[nodiscard]] const PlanCache& plans() const { return plans_; }

  private:
    /// Returns the plan of a call, from the last call if possible, and sets `memory` to its
    /// buffers. Returns nullptr on failure; then failure_ has the reason.
    [[nodiscard]] const Plan* find_plan(const Call& call, Purpose purpose, Registers& memory);
    [[nodiscard]] const Plan* look_up(const Call& call, Purpose purpose,
                                      const Neighborhood* neighborhood = nullptr);
    /// Sets `memory` to the call's buffers. Returns the plan if it accepts them, else nullptr.
    [[nodiscard]] const Plan* accepted(const Plan* plan, const Call& call, Registers& memory);
    void prepare_cells(std::uint32_t cells);
    void forget_last(Collective collective);
    void drop_old_plans();
    [[nodiscard]] const base::Failure* run(const Plan& plan, const Registers& memory);
    /// Starts a call whose operation is not exact_sum. `finish`: see Operation.
    [[nodiscard]] base::Result<Operation*> start(const Call& call, std::function<void()> finish);

    // Calls of Op::exact_sum: exact_call.cpp.

    [[nodiscard]] base::Result<void> check_exact(const Call& call) const;
    [[nodiscard]] const base::Failure* run_exact(const Call& call);
    [[nodiscard]] const base::Failure* run_exact_pair(const Call& call);
    /// `temporary`: scratch memory beyond the size that the team keeps.
    [[nodiscard]] const base::Failure* run_exact_piece(const Call& piece, ExactScratch& temporary);
    [[nodiscard]] const base::Failure* max_over_members(std::span<std::int64_t> numbers);
    [[nodiscard]] base::Result<Operation*> start_exact(const Call& call);

    const TeamServices& services_;
    RealEngine& engine_;
    PlanCache plans_;
    static constexpr std::size_t kCollectives = collectives::kCollectives.size();
    std::array<LastCall, kCollectives> last_{};  ///< by collective
    base::Failure failure_;                      ///< failure of the last call that failed
    int nodes_;                                  ///< number of nodes with members
    TeamState* state_ = nullptr;
    std::uint64_t serial_;
    std::uint64_t agreements_ = 0;
    std::uint64_t allocations_ = 0;  ///< last result of next_allocation()
    ExactScratch exact_scratch_;     ///< scratch memory of blocking calls
    Departure departure_;
};

}  // namespace weft::run
