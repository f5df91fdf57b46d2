// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/team.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "run/job/real_engine.hpp"
#include "run/runtime/runtime.hpp"

namespace weft::run {

/// Contribution of each member when a team is split.
struct Team::SplitEntry {
    std::uint64_t color = 0;  ///< color + 1; 0: no team
    std::uint64_t key = 0;    ///< with inverted sign bit, so that unsigned order is key order
    std::uint64_t free_regions = 0;
    std::uint64_t tick = 0;
    std::uint64_t abandoned = 0;  ///< places of teams that may be ended, as bits
};

Team::Team(Runtime& runtime, std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick,
           PlanContext context)
    : runtime_(runtime),
      engine_(runtime.engine()),
      plans_(context, runtime.kernels(), runtime.settings().algorithms),
      recorder_(runtime.recorder()),
      nodes_(context.nodes),
      serial_(runtime.next_team_serial()) {
    const auto barrier = plans_.inserted_barrier();
    WEFT_CHECK(barrier.ok(), barrier.failure().text);
    if (nodes_ > 1) runtime.use_cells(id, (*barrier)->program.program.slots);
    state_ = &engine_.add_team({.id = id,
                                .rank = context.rank,
                                .job_ranks = std::move(job_ranks),
                                .region = runtime.layout().region(id),
                                .shape = runtime.layout().shape,
                                .first_tick = first_tick,
                                .barrier = &(*barrier)->program});
}

const base::Failure* Team::run(const Call& call, Purpose purpose) {
    Registers memory;
    const Plan* const plan = find_plan(call, purpose, memory);
    if (plan == nullptr) [[unlikely]]
        return &failure_;
    LastCall& last = last_[static_cast<std::size_t>(call.collective)];
    if (last.plan == plan && is_plain(call)) last = {plan, call.in, call.out, memory, true};
    return run(*plan, memory);
}

const base::Failure* Team::run(const Plan& plan, const Registers& memory) {
    if (engine_.run(*state_, plan.program, memory, plan.reducer)) [[likely]]
        return nullptr;
    const Turn::Hold hold = engine_.take_turn();
    failure_ = engine_.failure();
    return &failure_;
}

/// Most calls repeat the last one of their collective with other memory.
const Plan* Team::find_plan(const Call& call, Purpose purpose, Registers& memory) {
    const auto collective = static_cast<std::size_t>(call.collective);
    if (purpose != Purpose::itself) return accepted(look_up(call, purpose), call, memory);
    if (collective < kCollectives) [[likely]] {
        const Plan* const last = last_[collective].plan;
        if (last != nullptr && last->serves(call)) [[likely]]
            return accepted(last, call, memory);
    }
    const Plan* const plan = look_up(call, purpose);
    if (plan == nullptr) return nullptr;
    plans_.trace(*plan);
    if (!plans_.traces()) {
        forget_last(call.collective);
        last_[collective].plan = plan;
    }
    return accepted(plan, call, memory);
}

const Plan* Team::accepted(const Plan* plan, const Call& call, Registers& memory) {
    if (plan == nullptr) return nullptr;
    memory = plan->registers(call);
    if (plan->accepts(memory)) [[likely]]
        return plan;
    failure_ = plan->refusal(memory);
    return nullptr;
}

const Plan* Team::look_up(const Call& call, Purpose purpose) {
    if (const Turn::Hold hold = engine_.take_turn(); state_->failed) [[unlikely]] {
        failure_ = state_->failure;
        return nullptr;
    }
    if (plans_.crowded()) make_room();
    const auto plan = plans_.find(as_seen(call, rank()), purpose);
    if (!plan) {
        failure_ = plan.failure();
        return nullptr;
    }
    const plan::Program& program = (*plan)->program.program;
    if (nodes_ > 1) runtime_.use_cells(id(), program.slots * program.depth);
    (*plan)->used = state_->cells->next() + 1;  // a barrier may be inserted before it
    return *plan;
}

/// Forgets the plan of the last call of a collective, which was in use up to here.
void Team::forget_last(Collective collective) {
    LastCall& last = last_[static_cast<std::size_t>(collective)];
    if (last.plan != nullptr) last.plan->used = state_->cells->next() + 1;
    last = {};
}

/// Drops plans that are not in use. Counts, roots and operations may be new in each call.
void Team::make_room() {
    const Turn::Hold hold = engine_.take_turn();  // a progress thread completes calls
    for (const LastCall& last : last_)
        if (last.plan != nullptr) last.plan->used = state_->cells->next() + 1;
    plans_.retire(state_->forgotten_before());
    if (recorder_ != nullptr) recorder_->forget_programs();
}

base::Result<Operation*> Team::start(const Call& call) {
    Registers memory;
    const Plan* const plan = find_plan(call, Purpose::itself, memory);
    if (plan == nullptr) return failure_;
    Operation& op = engine_.start(*state_, plan->program, memory, plan->reducer);
    runtime_.wake_progress_thread();
    return &op;
}

base::Result<Call> Team::prepare(const Call& call) {
    Registers memory;
    if (accepted(look_up(call, Purpose::itself), call, memory) == nullptr) return failure_;
    return with_own_arrays(as_seen(call, rank()));
}

base::Result<std::vector<Team::SplitEntry>> Team::exchange(const SplitEntry& mine) {
    const auto members = static_cast<std::size_t>(size());
    std::vector<SplitEntry> entries(members);
    entries[static_cast<std::size_t>(rank())] = mine;
    // Each member sets its own entry; the others are zero.
    const std::size_t words = members * sizeof(SplitEntry) / sizeof(std::uint64_t);
    if (const base::Failure* const why =
            run(Call::allreduce(entries.data(), entries.data(), words, Type::uint64, Op::bor),
                Purpose::split))
        return *why;
    return entries;
}

/// Fails on all members, even on those whose new team has a region: all see the same entries.
base::Result<void> Team::check_regions(const std::vector<SplitEntry>& entries) {
    std::map<std::uint64_t, std::uint64_t> free_by_color;
    for (const SplitEntry& entry : entries) {
        if (entry.color == 0) continue;
        const auto [at, added] = free_by_color.try_emplace(entry.color, entry.free_regions);
        at->second &= entry.free_regions;
        if (at->second == 0)
            return base::fail(Status::memory,
                              "split: no region is free on all members of the team of color {}; "
                              "each rank can be in {} teams at a time",
                              entry.color - 1, SegmentLayout::kTeams);
    }
    return {};
}

Team::SplitEntry Team::own_entry(int color, int key) {
    return {.color = color < 0 ? 0 : static_cast<std::uint64_t>(color) + 1,
            .key = static_cast<std::uint32_t>(key) ^ 0x8000'0000U,
            .free_regions = runtime_.free_regions(),
            .tick = runtime_.tick_bound()};
}

/// Exchanges the entries of a split. If members have abandoned teams within this one, first ends
/// those that all their members have abandoned. The entries then have the free regions after that.
base::Result<std::vector<Team::SplitEntry>> Team::gather_entries(int color, int key) {
    SplitEntry mine = own_entry(color, key);
    for (const Team* child : runtime_.abandoned_within(*this))
        mine.abandoned |= std::uint64_t{1} << child->id();
    auto entries = exchange(mine);
    if (!entries) return entries;
    if (std::ranges::all_of(*entries, [](const SplitEntry& entry) { return entry.abandoned == 0; }))
        return entries;
    if (auto ended = end_abandoned(*entries); !ended) return ended.failure();
    return exchange(own_entry(color, key));
}

/// Ends abandoned teams in the order of their places in the table, which is equal on all members.
/// So no cycle of waits can arise.
base::Result<void> Team::end_abandoned(const std::vector<SplitEntry>& entries) {
    const std::vector<Rank>& ranks = state_->setup.job_ranks;
    for (Team* child : runtime_.abandoned_within(*this)) {
        const bool everywhere =
            std::ranges::all_of(child->state().setup.job_ranks, [&](Rank member) {
                const auto at = std::ranges::find(ranks, member) - ranks.begin();
                return (entries[static_cast<std::size_t>(at)].abandoned >> child->id() & 1) != 0;
            });
        if (!everywhere) continue;
        if (auto ended = child->release(); !ended) return ended;
    }
    return {};
}

base::Result<Team*> Team::split(int color, int key) {
    const Runtime::Setup setup = runtime_.begin_setup();
    auto gathered = gather_entries(color, key);
    if (!gathered) return gathered.failure().within("split");
    const std::vector<SplitEntry>& entries = *gathered;
    const std::uint64_t mine = entries[static_cast<std::size_t>(rank())].color;
    if (auto checked = check_regions(entries); !checked) return checked.failure();
    if (color < 0) return nullptr;

    std::vector<Rank> ranks;
    std::uint64_t free_everywhere = ~std::uint64_t{0};
    base::Tick first_tick = 1;
    for (std::size_t r = 0; r < entries.size(); ++r) {
        if (entries[r].color != mine) continue;
        ranks.push_back(static_cast<Rank>(r));
        free_everywhere &= entries[r].free_regions;
        if (base::tick_distance(entries[r].tick, first_tick) > 0) first_tick = entries[r].tick;
    }
    std::ranges::stable_sort(ranks, {},
                             [&](Rank r) { return entries[static_cast<std::size_t>(r)].key; });
    for (Rank& r : ranks) r = state_->setup.job_ranks[static_cast<std::size_t>(r)];
    const auto id = static_cast<std::uint32_t>(std::countr_zero(free_everywhere));
    return &runtime_.add_team(id, std::move(ranks), first_tick);
}

/// The first rank of a node identifies it: all its ranks know the same group.
base::Result<Team*> Team::split_node() {
    return split(runtime_.job().node_ranks.front(), 0);
}

base::Result<void> Team::check_idle() const {
    engine_.settle(*state_);
    if (failed() || engine_.idle(*state_)) return {};
    return base::fail(Status::argument, "team {}: released while calls are in flight", id());
}

/// Runs the last barrier of the team. Every member waits in its own region, which is not
/// reused before. Puts of this rank to the team's memory are complete before another team can
/// use that memory.
base::Result<void> Team::meet_for_the_last_time() {
    if (auto settled = runtime_.settle_onesided(); !settled) return settled;
    const auto barrier = plans_.last_barrier();
    if (!barrier) return barrier.failure();
    if (nodes_ > 1) runtime_.use_cells(id(), (*barrier)->program.program.slots);
    if (const base::Failure* const why = run(**barrier, Registers())) return *why;
    return {};
}

base::Result<void> Team::release() {
    const Runtime::Setup setup = runtime_.begin_setup();
    if (auto idle = check_idle(); !idle) return idle;
    base::Result<void> ended;
    if (!failed()) {
        ended = meet_for_the_last_time();
        if (ended) {
            runtime_.remove_team(*this);  // *this is destroyed
            return ended;
        }
    }
    runtime_.leave_team(*this);  // *this may be destroyed
    return ended;
}

}  // namespace weft::run
