// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/team.hpp"

#include "run/job/real_engine.hpp"

namespace weft::run {

Team::Team(const TeamServices& services, std::uint64_t serial, std::uint32_t id,
           std::vector<Rank> job_ranks, base::Tick first_tick, PlanContext context)
    : services_(services),
      engine_(services.engine),
      plans_(context, services.kernels, services.settings.algorithms),
      nodes_(context.layout.nodes()),
      serial_(serial) {
    const auto barrier = plans_.barrier(Purpose::inserted);
    WEFT_CHECK(barrier.ok(), barrier.failure().text);
    state_ = &engine_.add_team({.id = id,
                                .rank = context.rank,
                                .job_ranks = std::move(job_ranks),
                                .region = services.layout.region(id),
                                .shape = services.layout.shape,
                                .first_tick = first_tick,
                                .revoked = services.layout.revoked_word(id),
                                .barrier = &(*barrier)->program});
    prepare_cells((*barrier)->program.program.slots);
}

const base::Failure* Team::run(const Call& call, Purpose purpose) {
    if (is_exact_sum(call)) [[unlikely]]
        return run_exact(call);
    Registers memory;
    const Plan* const plan = find_plan(call, purpose, memory);
    if (plan == nullptr) [[unlikely]]
        return &failure_;
    LastCall& last = last_[static_cast<std::size_t>(call.collective)];
    if (last.plan == plan && is_plain(call))
        last = {.plan = plan, .in = call.in, .out = call.out, .memory = memory, .is_ready = true};
    return run(*plan, memory);
}

const base::Failure* Team::run(const Call& call, const Neighborhood& neighborhood) {
    Registers memory;
    const Plan* const plan =
        accepted(look_up(call, Purpose::user_call, &neighborhood), call, memory);
    if (plan == nullptr) return &failure_;
    plans_.trace(*plan);
    return run(*plan, memory);
}

/// Copies the failure of a team: Engine::failure() may already describe another thread's call. Not
/// inlined, because that would add instructions to calls that succeed.
[[gnu::noinline]] static const base::Failure* copy_failure(RealEngine& engine,
                                                           const TeamState& team,
                                                           base::Failure& copy) {
    const Turn::Hold hold = engine.take_turn();
    copy = team.failure;
    return &copy;
}

const base::Failure* Team::run(const Plan& plan, const Registers& memory) {
    if (engine_.run(*state_, plan.program, memory, plan.reducer)) [[likely]]
        return nullptr;
    return copy_failure(engine_, *state_, failure_);
}

/// Most calls repeat the last call of their collective with other buffers.
const Plan* Team::find_plan(const Call& call, Purpose purpose, Registers& memory) {
    const auto collective = static_cast<std::size_t>(call.collective);
    if (purpose != Purpose::user_call) return accepted(look_up(call, purpose), call, memory);
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

const Plan* Team::look_up(const Call& call, Purpose purpose, const Neighborhood* neighborhood) {
    if (const Turn::Hold hold = engine_.take_turn(); state_->failed) [[unlikely]] {
        failure_ = state_->failure;
        return nullptr;
    }
    if (plans_.is_full()) drop_old_plans();
    const auto plan = plans_.find_or_make(normalized_for(call, rank()), purpose, neighborhood);
    if (!plan) {
        failure_ = plan.failure();
        return nullptr;
    }
    const plan::Program& program = (*plan)->program.program;
    prepare_cells(program.slots * program.depth);
    (*plan)->used = state_->cells->next() + 1;  // + 1: a barrier may be inserted
    return *plan;
}

/// Registers the team's cells with the network before the first call that needs `cells` cells of a
/// bank. If that fails, this call and all later calls fail.
void Team::prepare_cells(std::uint32_t cells) {
    if (nodes_ == 1 || cells <= services_.layout.shape.first_cells()) return;
    const auto [offset, bytes] = services_.layout.other_cells(id());
    link::Wire& wire = *services_.job.wire;
    if (auto done = prepare_memory(engine_, wire, offset, bytes); !done)
        wire.fail(done.failure().within(fmt::format("cells of team {}", id())));
}

/// Forgets the last call of a collective, and marks its plan as used until now.
void Team::forget_last(Collective collective) {
    LastCall& last = last_[static_cast<std::size_t>(collective)];
    if (last.plan != nullptr) last.plan->used = state_->cells->next() + 1;
    last = {};
}

/// Drops plans that are not in use (see PlanCache).
void Team::drop_old_plans() {
    const Turn::Hold hold = engine_.take_turn();  // the progress thread may be completing calls
    for (const LastCall& last : last_)
        if (last.plan != nullptr) last.plan->used = state_->cells->next() + 1;
    plans_.retire(state_->forgotten_before());
    if (services_.recorder != nullptr) services_.recorder->forget_programs();
}

base::Result<Operation*> Team::start(const Call& call) {
    return is_exact_sum(call) ? start_exact(call) : start(call, nullptr);
}

base::Result<Operation*> Team::start(const Call& call, std::function<void()> finish) {
    Registers memory;
    const Plan* const plan = find_plan(call, Purpose::user_call, memory);
    if (plan == nullptr) return failure_;
    Operation& op = engine_.start(*state_, plan->program, memory, plan->reducer, std::move(finish));
    services_.progress.wake_thread();
    return &op;
}

base::Result<Call> Team::prepare(const Call& call) {
    Registers memory;
    if (is_exact_sum(call))
        WEFT_TRY(check_exact(call));
    else if (accepted(look_up(call, Purpose::user_call), call, memory) == nullptr)
        return failure_;
    return with_own_arrays(normalized_for(call, rank()));
}

base::Result<void> Team::check_idle() const {
    engine_.settle(*state_);
    if (failed() || engine_.idle(*state_)) return {};
    return base::fail(Status::argument, "team {}: released while calls are in flight", id());
}

base::Result<void> Team::run_free_barrier() {
    const auto barrier = WEFT_TRY(plans_.barrier(Purpose::team_free));
    prepare_cells(barrier->program.program.slots);
    if (const base::Failure* const why = run(*barrier, Registers())) return *why;
    return {};
}

}  // namespace weft::run
