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
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "run/execute/team_state.hpp"
#include "run/runtime/plan_cache.hpp"
#include "run/runtime/remote_memory.hpp"

namespace weft::run {

class RealEngine;
class Runtime;

/// An allgather of bytes among the members of a future team, in its order. Returns false
/// if it failed.
using Exchange = std::function<bool(const void* mine, void* all, std::size_t bytes)>;

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
    [[nodiscard]] Runtime& runtime() const { return runtime_; }
    /// Opens the stream of a new context, and closes a quiet stream.
    [[nodiscard]] Stream* open_stream();
    void close_stream(Stream* stream);
    [[nodiscard]] std::uint32_t id() const { return state_->setup.id; }
    [[nodiscard]] int nodes() const { return nodes_; }
    [[nodiscard]] TeamState& state() const { return *state_; }

    /// The last plain call of a collective, prepared for repetition.
    struct Repeat {
        PlainCall call;
        Registers memory;
        const Plan* plan = nullptr;   ///< null: no such call
        const Plan* ready = nullptr;  ///< `plan` if `call` and `memory` are valid, else null
    };
    /// Returns the last call if it had these arguments, else nullptr. run_again() repeats it.
    /// `type` and `op` may be invalid values.
    [[nodiscard]] const Repeat* same(Collective collective, const void* in, void* out,
                                     std::size_t count, unsigned type, unsigned op, Rank root) {
        const Repeat& last = repeats_[static_cast<std::size_t>(collective)];
        if (last.ready == nullptr) [[unlikely]]
            return nullptr;
        if (collective == Collective::barrier) return &last;
        const PlainCall& call = last.call;
        const bool same = call.in == in && call.out == out && call.count == count &&
                          static_cast<unsigned>(call.type) == type &&
                          static_cast<unsigned>(call.op) == op && call.root == root;
        return same ? &last : nullptr;
    }
    [[nodiscard]] const Repeat* same(const Call& call) {
        if (!is_plain(call)) return nullptr;
        return same(call.collective, call.in, call.out, call.count,
                    static_cast<unsigned>(call.type), static_cast<unsigned>(call.op), call.root);
    }
    /// Repeats the call. Returns nullptr, or the reason why it failed.
    [[nodiscard]] const base::Failure* run_again(const Repeat& last) {
        return run_accepted(*last.ready, last.memory);
    }
    /// Makes one blocking call. If it returns false, failure() has the reason.
    [[nodiscard]] bool run(const Call& call);
    [[nodiscard]] bool run(const PlainCall& call);
    [[nodiscard]] const base::Failure& failure() const { return failure_; }
    /// Makes a call that is part of another call of the interface; ranks identify it by `purpose`.
    [[nodiscard]] base::Result<void> call(const Call& call, Purpose purpose = Purpose::itself);

    /// Starts a call without waiting. The caller owns the operation until Runtime::release.
    [[nodiscard]] base::Result<Operation*> start(const Call& call);

    /// Makes the plan of a call that will be started repeatedly. Returns the call. Numbers nothing.
    [[nodiscard]] base::Result<std::unique_ptr<const HeldCall>> prepare(const Call& call);

    /// Forms a team of members with the same color, ordered by key, then rank. Returns
    /// nullptr if color < 0. Fails on all members if one of the new teams has no common
    /// free region. Collective.
    [[nodiscard]] base::Result<Team*> split(int color, int key);
    /// Forms a team of the members that share memory with this one, in the same order. Collective.
    [[nodiscard]] base::Result<Team*> split_node();
    /// Marks the team as unused by this rank, without communication; its calls in flight continue.
    /// A later split() of a team with all its members ends it, once all members have abandoned it
    /// and have no call in flight.
    void abandon() { abandoned_ = true; }
    [[nodiscard]] bool abandoned() const { return abandoned_; }
    /// Marks the team as left by this rank. For Runtime::leave_team().
    void leave() { left_ = true; }
    [[nodiscard]] bool left() const { return left_; }
    /// Returns true in its first call only, when the members must be notified.
    [[nodiscard]] bool announce() { return !std::exchange(announced_, true); }
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

    /// Allocates memory at the same heap offset on all members; see SymmetricHeap. Collective.
    [[nodiscard]] base::Result<std::byte*> allocate(std::uint64_t bytes, std::uint64_t alignment);
    /// Frees memory that allocate() returned. Collective.
    [[nodiscard]] base::Result<void> free(const void* memory);
    /// Marks memory as unused by this rank. A later allocate() of the team frees it, once all
    /// members have abandoned it. Not collective.
    void abandon(const void* memory);
    /// Moves memory to a new block of another size. Collective.
    [[nodiscard]] base::Result<std::byte*> reallocate(const void* memory, std::uint64_t bytes,
                                                      std::uint64_t alignment);
    /// Returns a member's address of the same memory, or nullptr if loads and stores
    /// cannot reach it.
    [[nodiscard]] std::byte* on_member(const void* memory, Rank member) const;

    /// Returns a name for memory of all members; see RegisteredMemory. Collective.
    [[nodiscard]] base::Result<std::byte*> register_memory(void* memory, std::uint64_t bytes);
    /// Ends the registration of a name that register_memory() returned. Collective.
    [[nodiscard]] base::Result<void> unregister_memory(const void* name);

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

    /// Returns the plan if the call resembles the last one of its collective, else nullptr. Always
    /// returns nullptr if calls are recorded.
    [[nodiscard]] const Plan* warm(const Call& call) const {
        const auto collective = static_cast<std::size_t>(call.collective);
        const Plan* const plan = collective < kCollectives ? last_[collective] : nullptr;
        return plan != nullptr && plan->serves(call) ? plan : nullptr;
    }
    /// Returns the plan of the next call. If it returns nullptr, failure() has the reason.
    [[nodiscard]] const Plan* find(const Call& call);
    [[nodiscard]] const Plan* look_up(const Call& call, Purpose purpose);
    void forget_last(Collective collective);
    void make_room();
    [[nodiscard]] bool run(const Plan& plan, Registers memory);
    /// Runs a call whose memory the plan accepts. Returns nullptr, or the reason why it failed.
    [[nodiscard]] const base::Failure* run_accepted(const Plan& plan, const Registers& memory);
    [[nodiscard]] bool run_any(const Call& call);
    [[nodiscard]] bool run_any(const Plan& plan, Registers memory);
    /// Stores the engine's failure. Returns false.
    bool fail();

    Runtime& runtime_;
    RealEngine& engine_;
    PlanCache plans_;
    static constexpr std::size_t kCollectives = collectives::kCollectives.size();
    /// By collective: first the unrecorded calls, then the recorded ones.
    std::array<const Plan*, 2 * kCollectives> last_{};
    Recorder* recorder_;  ///< the runtime's, or nullptr
    /// By collective: unrecorded plain calls.
    std::array<Repeat, kCollectives> repeats_{};
    base::Failure failure_;
    int nodes_;
    TeamState* state_ = nullptr;
    std::uint64_t serial_;
    std::uint64_t allocations_ = 0;
    std::atomic<bool> abandoned_{false};  ///< read by threads that make teams
    bool left_ = false;
    bool announced_ = false;  ///< all members are notified that this rank has left
};

}  // namespace weft::run
