// SPDX-License-Identifier: BSD-3-Clause
// team.hpp - the calls that a team of ranks makes together.
//
// Idea     A call is compared with the last one of its collective. If all arguments are equal, the
//          last checks are still valid. If more than its memory differs, its plan is looked up or
//          made. The plan is passed to the engine. Blocking calls may take the engine's fused path.
//          Started calls return an operation that any later call drives.
// Holds    Arguments are checked before a call is numbered, so a refused call changes nothing. All
//          members make their calls in the same order.
// Next     plan.hpp for plans; run/execute/engine.hpp for their execution.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "run/execute/team_state.hpp"
#include "run/runtime/plan_cache.hpp"
#include "run/runtime/remote_memory.hpp"
#include "run/runtime/team_memory.hpp"

namespace weft::run {

class RealEngine;
class Runtime;

/// An allgather of bytes among the members of a future team, in its order. Returns false
/// if it failed.
using Exchange = std::function<bool(const void* mine, void* all, std::size_t bytes)>;

/// How far this rank has left a team, without communication. Its calls in flight continue.
struct Departure {
    /// This rank no longer uses the team. A later split() of a team with all its members ends it,
    /// once all members have abandoned it and have no call in flight. Read by threads that make
    /// teams.
    std::atomic<bool> abandoned{false};
    bool left = false;       ///< by Runtime::leave_team()
    bool announced = false;  ///< all members are notified that this rank has left
};

class Team {
  public:
    Team(Runtime& runtime, std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick,
         PlanContext context);

    [[nodiscard]] Rank rank() const { return state_->setup.rank; }
    [[nodiscard]] Rank size() const { return state_->size(); }
    /// Returns a member's rank in the job.
    [[nodiscard]] Rank job_rank(Rank member) const {
        return state_->setup.job_ranks[static_cast<std::size_t>(member)];
    }
    /// Returns the one-sided calls between members. A context passes its own stream.
    [[nodiscard]] RemoteMemory remote(Stream* stream = nullptr) {
        return {runtime_, *this, stream};
    }
    /// Returns the memory that the members have in common.
    [[nodiscard]] TeamMemory memory() { return {runtime_, *this}; }
    [[nodiscard]] Runtime& runtime() const { return runtime_; }
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
    /// Makes the same call again.
    [[nodiscard]] const base::Failure* run(const LastCall& last) {
        return run(*last.plan, last.memory);
    }

    /// Starts a call without waiting. The caller owns the operation until Runtime::release.
    [[nodiscard]] base::Result<Operation*> start(const Call& call);

    /// Makes the plan of a call that will be started repeatedly. Returns the call with its own
    /// arrays. Numbers nothing.
    [[nodiscard]] base::Result<Call> prepare(const Call& call);

    /// Forms a team of members with the same color, ordered by key, then rank. Returns
    /// nullptr if color < 0. Fails on all members if one of the new teams has no common
    /// free region. Collective.
    [[nodiscard]] base::Result<Team*> split(int color, int key);
    /// Forms a team of the members that share memory with this one, in the same order. Collective.
    [[nodiscard]] base::Result<Team*> split_node();
    [[nodiscard]] Departure& departure() { return departure_; }
    [[nodiscard]] bool failed() const { return state_->failed; }
    /// Returns the number of the next block that is allocated on the team.
    [[nodiscard]] std::uint64_t next_allocation() { return ++allocations_; }
    /// Returns a number that is unique among this rank's teams, past ones included. It
    /// differs between ranks.
    [[nodiscard]] std::uint64_t serial() const { return serial_; }

    /// Ends the team and frees its memory. Collective; no call may be in flight. If the
    /// team has failed or fails now, this rank leaves it instead (Runtime::leave_team()).
    /// Returns the failure of the last barrier. This rank must not use the team afterwards,
    /// unless check_idle() failed.
    [[nodiscard]] base::Result<void> release();
    /// Fails if a call is in flight. Waits for local peers that read copies of buffers
    /// of ended calls.
    [[nodiscard]] base::Result<void> check_idle() const;

    base::Result<void> force(Collective collective, std::string_view spec) {
        forget_last(collective);
        return plans_.force(collective, spec);
    }
    [[nodiscard]] const PlanCache& plans() const { return plans_; }

  private:
    struct SplitEntry;

    [[nodiscard]] base::Result<std::vector<SplitEntry>> exchange(const SplitEntry& mine);
    [[nodiscard]] base::Result<std::vector<SplitEntry>> gather_entries(int color, int key);
    [[nodiscard]] SplitEntry own_entry(int color, int key);
    [[nodiscard]] base::Result<void> end_abandoned(const std::vector<SplitEntry>& entries);
    [[nodiscard]] base::Result<void> meet_for_the_last_time();
    [[nodiscard]] static base::Result<void> check_regions(const std::vector<SplitEntry>& entries);

    /// Returns the plan of the next call, if possible that of the last call, and sets
    /// `memory`. If it returns nullptr, failure_ has the reason.
    [[nodiscard]] const Plan* find_plan(const Call& call, Purpose purpose, Registers& memory);
    [[nodiscard]] const Plan* look_up(const Call& call, Purpose purpose);
    /// Sets `memory`. Returns the plan if it accepts that memory, else nullptr.
    [[nodiscard]] const Plan* accepted(const Plan* plan, const Call& call, Registers& memory);
    void forget_last(Collective collective);
    void make_room();
    /// Runs a call whose memory the plan accepts.
    [[nodiscard]] const base::Failure* run(const Plan& plan, const Registers& memory);

    Runtime& runtime_;
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

}  // namespace weft::run
