// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/registry.hpp"
#include "plan/schedule/localize.hpp"
#include "plan/schedule/step.hpp"
#include "run/bind/bind.hpp"
#include "tests/support/faulty_windows.hpp"
#include "tests/virtual/farm/virtual_clock.hpp"

namespace weft::farm {

namespace {

constexpr std::uint64_t kSwitchesPerSpeed = 700;             ///< switches between changes of speed
constexpr std::uint64_t kIdleSwitchesMax = 300'000;          ///< switches without any event
constexpr std::uint64_t kNoProgressSwitchesMax = 6'000'000;  ///< switches without progress
constexpr std::uint32_t kBanks = 4;               ///< number of banks that faulty rules assume
constexpr std::uint64_t kInquiryNs = 10'000'000;  ///< counted time between inquiries
constexpr std::uint64_t kNever = std::uint64_t{1} << 62;  ///< ns

/// The correct bank rule, for epochs that start shortly before 2^32.
class WindowNear2To32 : public run::Window {
  public:
    explicit WindowNear2To32(std::uint32_t banks) : Window(banks) {
        next_ = first_incomplete_ = (run::Epoch{1} << 32) - 6;
        last_sync_issued_ = last_sync_complete_ = next_ - 1;
    }
};

/// Returns a function that makes windows of the class Rule.
template <class Rule>
test::WindowMaker rule_maker(std::uint32_t banks) {
    return [banks] { return std::make_unique<Rule>(banks); };
}

}  // namespace

World::World(const Scenario& given, std::uint64_t schedule)
    : scenario(given), random(base::Random(given.seed).stream(41 + schedule)) {
    reset_clock();
    make_job(base::mix(given.seed ^ base::mix(schedule + 77)));
    for (const TeamSketch& sketch : scenario.teams)
        if (sketch.from_start) make_team(sketch);
    const Rank size = scenario.size();
    std::uint64_t bytes = 0;
    for (const TeamSketch& sketch : scenario.teams)
        if (!sketch.from_start) bytes = std::max(bytes, sketch.shape.bytes());
    for (Rank rank = 0; rank < size; ++rank)
        later_region_ =
            static_cast<std::uint64_t>(job_->allocate(rank, bytes) - job_->network().segment(rank));
    for (const TeamSketch& sketch : scenario.teams)
        if (!sketch.from_start) make_team(sketch);
    done_.assign(static_cast<std::size_t>(size), false);
    dead_.assign(static_cast<std::size_t>(size), false);
    pauses_left_.assign(static_cast<std::size_t>(size), -1);
    speeds_.assign(static_cast<std::size_t>(size), 1);
    // Each call of a wire may switch to another rank.
    job_->network().on_call([this](Rank rank) {
        if (fibers.running() && random.chance(1, 3)) pause(rank);
    });
}

void World::make_job(std::uint64_t seed) {
    test::VirtualOptions options{.segment_bytes = 24 << 20,
                                 .node_of_rank = scenario.nodes,
                                 .seed = seed,
                                 .profile = scenario.profile};
    options.faults = {.early_reuse = scenario.fault == Fault::early_reuse,
                      .forgets_refusals = scenario.fault == Fault::forgotten_refusal,
                      .never_settles = scenario.fault == Fault::ignored_arrivals};
    const run::WatchdogOptions watchdog{.inquiry_ns = scenario.inquires ? kInquiryNs : kNever,
                                        .timeout_ns = 0};
    if (scenario.fabric) {
        job_.emplace(std::move(options), scenario.setting, watchdog);
        return;
    }
    job_.emplace(std::move(options), watchdog);
    if (!scenario.watched) job_->network().observe({});
}

test::TeamPlan World::plan_of(const TeamSketch& sketch) const {
    test::TeamPlan plan{
        .members = sketch.members, .shape = sketch.shape, .first_tick = sketch.first_tick};
    if (sketch.late_epochs) {
        plan.cell_window = rule_maker<WindowNear2To32>(plan.shape.banks);
        plan.bulk_windows[base::kSmallClasses] = rule_maker<WindowNear2To32>(plan.shape.bulk_banks);
    }
    switch (scenario.fault) {
        case Fault::late_barrier:
            plan.cell_window = rule_maker<test::LateWindow>(kBanks);
            break;
        case Fault::count_only:
            plan.cell_window = rule_maker<test::CountingWindow>(kBanks);
            break;
        case Fault::one_bank:
            plan.shape.banks = 1;
            plan.cell_window = rule_maker<run::Window>(kBanks);
            break;
        case Fault::one_small_bank:
            plan.shape.small[0].banks = 1;
            plan.bulk_windows[0] = rule_maker<run::Window>(kBanks);
            break;
        default:
            break;
    }
    return plan;
}

void World::make_team(const TeamSketch& sketch) {
    LiveTeam& live = teams.emplace_back();
    live.sketch = &sketch;
    if (sketch.from_start) {
        live.team = &job_->add_team(plan_of(sketch));
        live.states = live.team->states;
    } else {
        live.team = &live.own;
        live.own = {.id = static_cast<std::uint32_t>(teams.size() - 1),
                    .members = sketch.members,
                    .shape = sketch.shape};
        const auto spec = collectives::parse_spec("dissemination");
        for (Rank rank = 0; rank < live.own.size(); ++rank) {
            const plan::Program program = plan::localize(
                *collectives::generate("barrier", *spec, {.rank = rank, .size = live.own.size()}),
                job_->near(live.own, rank));
            live.own.barriers.push_back(
                *run::bind(program, {.description = "barrier", .shape = sketch.shape}));
        }
        live.states.assign(sketch.members.size(), nullptr);
        later_tick_ = sketch.first_tick;
    }
    for (const CallSketch& call : sketch.calls)
        live.calls.push_back(test::bind_programs(*job_, *live.team, call.plan,
                                                 programs_of(scenario, sketch, call),
                                                 collectives::contract(call.plan.collective)));
    plant_fault(live);
}

/// Plants the faults that are in programs, or in a member's list of the team's ranks.
void World::plant_fault(LiveTeam& live) {
    // Replaces all waits for credits, or the first other wait, by flushes.
    const auto drop_waits = [](run::BoundProgram& program, bool credits) {
        for (run::BoundStep& step : program.steps) {
            if (step.kind != plan::StepKind::wait || (step.lag != 0) != credits) continue;
            step.kind = plan::StepKind::flush;
            program.fused = {};
            if (!credits) return;
        }
    };
    for (test::TeamCall& call : live.calls) {
        if (scenario.fault == Fault::skipped_credit)
            for (run::BoundProgram& program : call.programs) drop_waits(program, /*credits=*/true);
        if (scenario.fault == Fault::skipped_wait) drop_waits(call.programs[1], /*credits=*/false);
    }
    if (scenario.fault != Fault::swapped_ranks || live.states.size() < 3 ||
        !live.sketch->from_start)
        return;
    run::TeamState& state = *live.states.front();
    std::swap(state.setup.job_ranks[1], state.setup.job_ranks[2]);
    std::swap(state.bases[run::kFusedRegions + 1], state.bases[run::kFusedRegions + 2]);
}

void World::join(LiveTeam& live, Rank rank) {
    const Rank member = live.team->rank_of(rank);
    if (member < 0) return;
    const bool restarts_ticks = scenario.fault == Fault::ticks_again;
    run::TeamSetup setup{.id = live.team->id,
                         .rank = member,
                         .job_ranks = live.team->members,
                         .region = later_region_,
                         .shape = live.team->shape,
                         .first_tick = (restarts_ticks ? 1 : later_tick_) & base::kTickMask,
                         .barrier = &live.own.barriers[static_cast<std::size_t>(member)]};
    live.states[static_cast<std::size_t>(member)] = &job_->engine(rank).add_team(std::move(setup));
}

void World::leave(LiveTeam& live, Rank rank) {
    run::TeamState* const state = live.state_of(rank);
    if (state == nullptr) return;
    later_tick_ = state->next_tick;  // equal on all members
    live.states[static_cast<std::size_t>(live.team->rank_of(rank))] = nullptr;
    job_->engine(rank).remove_team(*state);
}

// --- scheduling --------------------------------------------------------------------------------

void World::pause(Rank rank) {
    if (on_pause) on_pause(rank);
    if (scenario.watched) job_->watch().check_publications(rank);
    int& pauses_left = pauses_left_[static_cast<std::size_t>(rank)];
    if (pauses_left >= 0 && pauses_left-- == 0) {
        dead_[static_cast<std::size_t>(rank)] = true;
        dead_rank_ = rank;
        report_death_at_ = switches + random.below(3000);
    }
    fibers.pause();
}

void World::schedule_death(Rank rank) {
    expects_death_ = true;
    pauses_left_[static_cast<std::size_t>(rank)] = static_cast<int>(random.below(200));
}

/// Makes the wires of all ranks report the death.
void World::report_death() {
    report_death_at_.reset();
    for (Rank rank = 0; rank < scenario.size(); ++rank)
        job_->network().break_wire(rank, {Status::peer, fmt::format("rank {} died", dead_rank_)});
}

bool World::all_done() const {
    for (std::size_t rank = 0; rank < done_.size(); ++rank)
        if (!done_[rank] && !dead_[rank]) return false;
    return expects_death_ || scenario.inquires || job_->in_flight() == 0;
}

Rank World::pick() {
    if (switches % kSwitchesPerSpeed == 0) {
        for (std::uint32_t& speed : speeds_) {
            const double unit = random.unit();
            speed =
                random.chance(1, 10) ? 0 : 1 + static_cast<std::uint32_t>(unit * unit * unit * 500);
        }
    }
    std::uint32_t sum = 0;
    const auto weight = [&](std::size_t rank) {
        return dead_[rank] || fibers.ended(rank) ? 0U : speeds_[rank];
    };
    for (std::size_t rank = 0; rank < speeds_.size(); ++rank) sum += weight(rank);
    if (sum == 0) {  // all ranks that can run have speed 0, or none can run
        for (std::uint32_t& speed : speeds_) speed = 1;
        for (std::size_t rank = 0; rank < speeds_.size(); ++rank) sum += weight(rank);
        if (sum == 0) return -1;
    }
    std::uint64_t at = random.below(sum);
    for (std::size_t rank = 0;; ++rank) {
        if (at < weight(rank)) return static_cast<Rank>(rank);
        at -= weight(rank);
    }
}

void World::run() {
    std::uint64_t moved_at = 0;     // switch of the last event of the network
    std::uint64_t progress_at = 0;  // switch of the last progress of a rank
    std::uint64_t progress_seen = 0;
    while (wrong.empty()) {
        const Rank rank = pick();
        if (rank < 0) return;
        ++switches;
        trace = base::mix(trace + static_cast<std::uint64_t>(rank) + 1);
        if (report_death_at_ && switches >= *report_death_at_) report_death();
        fibers.run(static_cast<std::size_t>(rank));
        if (progress_count_ != progress_seen) progress_at = moved_at = switches;
        progress_seen = progress_count_;
        if (job_->take_moved() || report_death_at_) moved_at = switches;
        if (switches - moved_at <= kIdleSwitchesMax &&
            switches - progress_at <= kNoProgressSwitchesMax)
            continue;
        fail(fmt::format("no progress of the ranks, {} events in flight:\n{}", job_->in_flight(),
                         job_->describe()));
    }
}

}  // namespace weft::farm
