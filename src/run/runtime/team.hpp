// SPDX-License-Identifier: BSD-3-Clause
// team.hpp - the calls that a team of ranks makes together.
//
// Idea     A call is compared with the last one of its collective. If it is the same, memory and
//          all, what was checked then holds; if it differs in more than its memory, its plan is
//          looked up or made. The plan goes to the engine. Blocking calls may
//          take the engine's fused path; started ones return an operation that any later call
//          drives.
// Holds    Arguments are checked before anything is numbered, so a refused call changes nothing.
//          Members call in the same order.
// Next     plan.hpp for what a plan is; run/execute/engine.hpp for how it runs.
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

/// An allgather of bytes among the members of a team that is to be: this rank's, then those of all
/// in the order of the team. False if it failed.
using Exchange = std::function<bool(const void* mine, void* all, std::size_t bytes)>;

class Team {
  public:
    Team(Runtime& runtime, std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick,
         PlanContext context);

    [[nodiscard]] Rank rank() const { return state_->setup.rank; }
    [[nodiscard]] Rank size() const { return state_->size(); }
    /// A member's rank in the job.
    [[nodiscard]] Rank job_rank(Rank member) const {
        return state_->setup.job_ranks[static_cast<std::size_t>(member)];
    }
    /// One-sided calls between members; those of a context have its stream.
    [[nodiscard]] RemoteMemory remote(Stream* stream = nullptr) {
        return {runtime_, *this, stream};
    }
    [[nodiscard]] Runtime& runtime() const { return runtime_; }
    /// The stream of a new context, and the end of one that is quiet.
    [[nodiscard]] Stream* open_stream();
    void close_stream(Stream* stream);
    [[nodiscard]] std::uint32_t id() const { return state_->setup.id; }
    [[nodiscard]] int nodes() const { return nodes_; }
    [[nodiscard]] TeamState& state() const { return *state_; }

    /// The last plain call of a collective, made ready to be made again.
    struct Repeat {
        PlainCall call;
        Registers memory;
        const Plan* plan = nullptr;   ///< null: there was none
        const Plan* ready = nullptr;  ///< the plan, once `call` and `memory` are those of a call
    };
    /// That call, if it was just this one; run_again() makes it. Types and operations are those
    /// of an interface whose numbers may mean nothing.
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
    /// Makes it; nullptr, or why it has failed.
    [[nodiscard]] const base::Failure* run_again(const Repeat& last) {
        return run_accepted(*last.ready, last.memory);
    }
    /// One blocking call. False: failure() says why.
    [[nodiscard]] bool run(const Call& call);
    [[nodiscard]] bool run(const PlainCall& call);
    [[nodiscard]] const base::Failure& failure() const { return failure_; }
    /// The same, for calls of the interface that consist of others: ranks take it for that call.
    [[nodiscard]] base::Result<void> call(const Call& call, Purpose purpose = Purpose::itself);

    /// Starts a call; never waits. The operation belongs to the caller until Runtime::release.
    [[nodiscard]] base::Result<Operation*> start(const Call& call);

    /// The call, to be started again and again; makes its plan. Nothing is numbered.
    [[nodiscard]] base::Result<std::unique_ptr<const HeldCall>> prepare(const Call& call);

    /// Collective: members with the same colour form a team, ordered by key, then rank. Returns
    /// nullptr where colour < 0. Fails on all members if no region is free on all members of one of
    /// the new teams.
    [[nodiscard]] base::Result<Team*> split(int color, int key);
    /// Collective: the members that share memory with this one form a team, in the same order.
    [[nodiscard]] base::Result<Team*> split_node();
    /// Not collective: this rank has no more use for the team; its calls in flight go on. A later
    /// split() of a team that all its members are in ends it, once all of them have said so and
    /// none has a call in flight.
    void abandon() { abandoned_ = true; }
    [[nodiscard]] bool abandoned() const { return abandoned_; }
    /// For Runtime::leave_team(): this rank has left the team.
    void leave() { left_ = true; }
    [[nodiscard]] bool left() const { return left_; }
    /// Whether it is now that the other members are to be told so.
    [[nodiscard]] bool announce() { return !std::exchange(announced_, true); }
    [[nodiscard]] bool failed() const { return state_->failed; }
    /// The number of the next block that is allocated on the team.
    [[nodiscard]] std::uint64_t next_allocation() { return ++allocations_; }
    /// Of each team of this rank another one, past teams included; it differs between ranks.
    [[nodiscard]] std::uint64_t serial() const { return serial_; }

    /// Collective: ends the team and frees its memory; no call may be in flight. A team that has
    /// failed is left instead (Runtime::leave_team()), and so is one that fails now, with that
    /// failure: in any case the team is not this rank's any more, unless check_idle() refuses.
    [[nodiscard]] base::Result<void> release();
    /// Whether no call is in flight. Waits for mates that read copies of the buffers of ended ones.
    [[nodiscard]] base::Result<void> check_idle() const;

    /// Collective: memory at the same heap offset on all members; see SymmetricHeap.
    [[nodiscard]] base::Result<std::byte*> allocate(std::uint64_t bytes, std::uint64_t alignment);
    /// Collective, with what allocate() gave.
    [[nodiscard]] base::Result<void> free(const void* memory);
    /// Not collective: freed by a later allocate() of the team once all members have abandoned it.
    void abandon(const void* memory);
    /// Collective: the same memory with other bytes, somewhere else.
    [[nodiscard]] base::Result<std::byte*> reallocate(const void* memory, std::uint64_t bytes,
                                                      std::uint64_t alignment);
    /// A member's memory of the same name, if loads and stores reach it, else nullptr.
    [[nodiscard]] std::byte* on_member(const void* memory, Rank member) const;

    /// Collective: a name for memory of all members; see RegisteredMemory.
    [[nodiscard]] base::Result<std::byte*> register_memory(void* memory, std::uint64_t bytes);
    /// Collective, with what register_memory() gave.
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

    /// The plan of a call like the last one of its collective; nullptr for any other, and for all
    /// where calls are recorded.
    [[nodiscard]] const Plan* warm(const Call& call) const {
        const auto collective = static_cast<std::size_t>(call.collective);
        const Plan* const plan = collective < kCollectives ? last_[collective] : nullptr;
        return plan != nullptr && plan->serves(call) ? plan : nullptr;
    }
    /// The plan of the next call; nullptr: failure() says why.
    [[nodiscard]] const Plan* find(const Call& call);
    [[nodiscard]] const Plan* look_up(const Call& call, Purpose purpose);
    void forget_last(Collective collective);
    void make_room();
    [[nodiscard]] bool run(const Plan& plan, Registers memory);
    /// Of memory that the plan accepts. nullptr, or why it has failed.
    [[nodiscard]] const base::Failure* run_accepted(const Plan& plan, const Registers& memory);
    [[nodiscard]] bool run_any(const Call& call);
    [[nodiscard]] bool run_any(const Plan& plan, Registers memory);
    /// Keeps why the engine has failed.
    bool fail();

    Runtime& runtime_;
    RealEngine& engine_;
    PlanCache plans_;
    static constexpr std::size_t kCollectives = collectives::kCollectives.size();
    /// By collective, where calls are not recorded; then, where they are.
    std::array<const Plan*, 2 * kCollectives> last_{};
    Recorder* recorder_;  ///< the runtime's, or nullptr
    /// By collective, where calls are not recorded, of plain calls.
    std::array<Repeat, kCollectives> repeats_{};
    base::Failure failure_;
    int nodes_;
    TeamState* state_ = nullptr;
    std::uint64_t serial_;
    std::uint64_t allocations_ = 0;
    std::atomic<bool> abandoned_{false};  ///< read by threads that make teams
    bool left_ = false;
    bool announced_ = false;  ///< to all members, that this rank has left
};

}  // namespace weft::run
