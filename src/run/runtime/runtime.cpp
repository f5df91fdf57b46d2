// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/runtime.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/fork_guard.hpp"
#include "run/job/describe.hpp"
#include "run/job/real_engine.hpp"
#include "run/runtime/gather.hpp"

namespace weft::run {

namespace {

/// Time that a wait continues after a peer is lost. A launcher ends the job earlier, and
/// names that peer.
constexpr std::uint64_t kLingerNs = 1'000'000'000;

/// Limit for direct access. A step of a larger team might need more windows of peers than
/// are kept (link/direct/peer_windows.hpp).
constexpr std::size_t kDirectRanksMax = 100;
static_assert(2 * kDirectRanksMax < link::PeerWindows::kKept);

std::vector<Rank> all_ranks(Rank size) {
    std::vector<Rank> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

/// Returns "team 1 (ranks 0, 2)". Ids alone do not distinguish teams without common members.
std::string team_name(std::uint32_t id, const std::vector<Rank>& job_ranks) {
    constexpr std::size_t kShown = 4;
    if (job_ranks.size() <= kShown)
        return fmt::format("team {} (ranks {})", id, fmt::join(job_ranks, ", "));
    return fmt::format("team {} ({} ranks from rank {})", id, job_ranks.size(), job_ranks.front());
}

/// Both arguments are equal on all ranks.
bool wants_progress_thread(base::ProgressMode mode, int nodes) {
    return mode == base::ProgressMode::thread || (mode == base::ProgressMode::remote && nodes > 1);
}

Turn::Kind turn_for(const base::Settings& settings, int nodes) {
    if (settings.threads == base::ThreadLevel::multiple) return Turn::Kind::divided;
    return wants_progress_thread(settings.progress, nodes) ? Turn::Kind::shared : Turn::Kind::own;
}

}  // namespace

base::Result<std::unique_ptr<Runtime>> Runtime::create(const char* const* environment) {
    return create(environment, nullptr);
}

base::Result<std::unique_ptr<Runtime>> Runtime::create(const char* const* environment,
                                                       std::unique_ptr<link::Bootstrap> bootstrap) {
    const auto refused = [&](const base::Failure& why) {
        if (bootstrap != nullptr) bootstrap->give_up(why.text);
        return why;
    };
    if (auto guarded = base::guard_against_forks(); !guarded) return refused(guarded.failure());
    auto settings = base::read_settings(environment, collectives::kCollectiveNames);
    if (!settings) return refused(settings.failure());
    auto measured = read_measured_files(*settings);
    if (!measured) return refused(measured.failure());
    const auto kernels = select_isa(settings->reduce_isa);
    if (!kernels) return refused(kernels.failure());
    // One runtime at a time: PMIx and libfabric have process-wide state, and all ranks must join in
    // the same order.
    static std::mutex joining;
    const std::lock_guard held(joining);
    auto job = join(*settings, std::move(bootstrap), prices_by(measured->costs));
    if (!job) return job.failure();
    base::set_guarded_rank(job->bootstrap->rank());
    std::unique_ptr<Runtime> runtime(
        new Runtime(std::move(*settings), std::move(*measured), std::move(*job), *kernels));
    if (auto begun = runtime->reports_.begin(runtime->exchange()); !begun) return begun.failure();
    return runtime;
}

Runtime::Runtime(base::Settings settings, MeasuredFiles measured, Job job,
                 const ReduceTable& kernels)
    : settings_(std::move(settings)),
      measured_(std::move(measured)),
      layout_(job.bootstrap->size(), settings_),
      kernels_(kernels),
      job_(std::move(job)),
      log_(settings_, job_.bootstrap->rank()),
      own_(job_.wire->near(job_.bootstrap->rank())),
      reports_(settings_, log_, job_.bootstrap->size()),
      engine_(std::make_unique<RealEngine>(*job_.wire, job_.bootstrap->rank(), engine_options())),
      external_(engine_->external()),
      onesided_(std::make_unique<RealOneSided>(*job_.wire, *engine_, layout_.onesided,
                                               job_.bootstrap->rank())),
      heap_(
          {layout_.heap, layout_.bytes - layout_.heap}, link::alignment_of(layout_.bytes),
          [this](std::uint64_t offset, std::uint64_t bytes) { return use_memory(offset, bytes); }),
      registered_(*this) {
    if (onesided_->service().has_origins())
        job_.wire->set_service(&Runtime::serve, &Runtime::on_immediate, this);
    job_.sigterm_report->set_file(log_.file());
    log_start(log_, job_, settings_, kernels_);
    add_team(0, all_ranks(job_.bootstrap->size()), 1);
    if (wants_progress_thread(settings_.progress, job_.nodes))
        progress_thread_ = std::make_unique<RealProgressThread>(*engine_);
}

EngineOptions Runtime::engine_options() {
    SigtermReport& report = *job_.sigterm_report;
    return {.watchdog = {.timeout_ns = settings_.timeout_ns,
                         .linger_ns = kLingerNs,
                         .abort_on_timeout = settings_.timeout_action == base::TimeoutAction::abort,
                         .report = [this](const std::string& line) { log_.warn(line); },
                         .abort = [this](const std::string& why) { abort_job(why); },
                         .status_request = &report.status_request(),
                         .answer = [&report](const std::string& line) { report.answer(line); }},
            .turn = turn_for(settings_, job_.nodes),
            .recorder = reports_.recorder()};
}

void Runtime::abort_job(const std::string& why) {
    job_.sigterm_report->set_stage("ending the job");
    job_.bootstrap->abort(3, why);
}

/// Destroys the wire first: closing the network still counts completions in the engine's
/// operations.
Runtime::~Runtime() {
    progress_thread_.reset();
    job_.wire.reset();
}

int Runtime::nodes_of(const std::vector<Rank>& job_ranks) const {
    std::set<int> nodes;
    for (const Rank rank : job_ranks)
        nodes.insert(job_.node_of_rank[static_cast<std::size_t>(rank)]);
    return static_cast<int>(nodes.size());
}

plan::Machine Runtime::machine_of(const std::vector<Rank>& job_ranks) const {
    plan::Machine machine = measured_.costs.over(machine_over(job_.provider));
    machine.host_ranks = job_.crowd_ranks;
    machine.host_processors = job_.crowd_processors;
    const bool direct = nodes_of(job_ranks) == 1 ? job_.direct : job_.direct_everywhere;
    const link::FabricPort* const port = job_.wire->port();
    machine.lands = port != nullptr && port->facts().notify.large != link::Notify::counter;
    machine.direct = direct && job_ranks.size() <= kDirectRanksMax;
    machine.bank_bytes = layout_.shape.bulk_bytes;
    if (settings_.direct == base::DirectChoice::copy)
        machine = plan::with_kernel_copies(std::move(machine));
    for (const Rank rank : job_ranks)
        machine.node_of.push_back(job_.node_of_rank[static_cast<std::size_t>(rank)]);
    return machine;
}

Team& Runtime::add_team(std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick) {
    const auto me = std::ranges::find(job_ranks, job_.bootstrap->rank());
    PlanContext context{.rank = static_cast<Rank>(me - job_ranks.begin()),
                        .size = static_cast<Rank>(job_ranks.size()),
                        .nodes = nodes_of(job_ranks),
                        .machine = machine_of(job_ranks),
                        .tuning = &measured_.tuning,
                        .provider = job_.provider,
                        .region = layout_.shape,
                        .name = team_name(id, job_ranks),
                        .log = &log_};
    context.layout = plan::Layout::of(context.machine.node_of);
    for (const Rank rank : job_ranks) context.near.push_back(job_.wire->near(rank) != nullptr);
    // Candidates of one node that could not map each other do not share buffers, either.
    if (context.nodes == 1 && std::ranges::find(context.near, false) != context.near.end())
        context.machine.direct = false;
    used_regions_ |= std::uint64_t{1} << id;
    const bool far = std::ranges::find(context.near, false) != context.near.end();
    if (!far) SegmentLayout::keep_near_banks(context.region);
    for (const auto& [offset, bytes] : layout_.usual_memory(id)) {
        if (!far) break;
        if (auto done = use_memory(offset, bytes); !done)
            job_.wire->fail(done.failure().within(context.name));
    }
    return *teams_.emplace_back(
        std::make_unique<Team>(*this, id, std::move(job_ranks), first_tick, std::move(context)));
}

base::Result<void> Runtime::use_memory(std::uint64_t offset, std::uint64_t bytes) {
    const Turn::Hold hold = engine_->take_turn();
    return job_.wire->memory().use_memory(offset, bytes);
}

void Runtime::use_cells(std::uint32_t team, std::uint32_t cells) {
    if (cells <= layout_.shape.first_cells()) return;
    const auto [offset, bytes] = layout_.other_cells(team);
    if (auto done = use_memory(offset, bytes); !done)
        job_.wire->fail(done.failure().within(fmt::format("cells of team {}", team)));
}

void Runtime::remove_team(Team& team) {
    const std::uint32_t id = team.id();
    const base::Tick bound = tick_bound();
    retired_tick_ = bound;
    heap_.end_team(team);
    registered_.end_team(team);
    engine_->remove_team(team.state());
    std::erase_if(teams_, [&](const auto& held) { return held.get() == &team; });
    used_regions_ &= ~(std::uint64_t{1} << id);
}

void Runtime::leave_team(Team& team) {
    const Setup setup = begin_setup();
    team.departure().left = true;
    end_left_teams();
}

/// Ends teams that all members have left. Members add to a word of each other. When a rank's word
/// has counted all members, no member uses the region. A failed team may have puts in flight
/// that no rank awaits. If the network keeps the order of puts between two ranks, these puts are
/// delivered before the additions. Otherwise, the region stays reserved.
void Runtime::end_left_teams() {
    if (job_.wire == nullptr) return;  // finalized: later calls report it
    std::vector<Team*> settled;
    for (const auto& team : teams_) {
        Departure& departure = team->departure();
        if (departure.abandoned && team->failed()) departure.left = true;
        const bool lands = !team->failed() || team->nodes() == 1 || keeps_order();
        if (departure.left && lands && engine_->idle(team->state())) settled.push_back(team.get());
    }
    if (settled.empty()) return;
    Turn::Hold hold = engine_->take_turn();
    std::erase_if(settled, [&](Team* team) {
        const std::uint64_t word = layout_.left_word(team->id());
        if (!std::exchange(team->departure().announced, true)) {
            // Puts to the team's memory are delivered before. If that fails, all calls fail.
            static_cast<void>(onesided_->fence());
            for (const Rank member : team->state().setup.job_ranks)
                onesided_->put_signal(member, 0, nullptr, 0, {word, 1, true}, Return::at_once);
        }
        // Acquire: pairs with the members' atomic additions.
        std::atomic_ref<std::uint64_t> count(*reinterpret_cast<std::uint64_t*>(at(word)));
        if (count.load(std::memory_order_acquire) < static_cast<std::uint64_t>(team->size()))
            return true;
        count.store(0, std::memory_order_relaxed);
        if (team->failed())
            job_.wire->forget_pieces(layout_.region(team->id()), layout_.region_bytes);
        return false;
    });
    if (hold.owns_lock()) hold.unlock();  // removing a team also takes the turn
    for (Team* team : settled) remove_team(*team);
}

base::Result<Team*> Runtime::create_team(std::vector<Rank> job_ranks, const Exchange& exchange) {
    struct Offer {
        std::uint64_t free_regions;
        std::uint64_t tick;
        std::uint64_t members;  ///< hash of the members' ranks
    };
    const Setup setup = begin_setup();
    const std::string_view text(reinterpret_cast<const char*>(job_ranks.data()),
                                job_ranks.size() * sizeof(Rank));
    const Offer mine{free_regions(), tick_bound(), std::hash<std::string_view>{}(text)};
    std::vector<Offer> offers(job_ranks.size());
    if (!exchange(&mine, offers.data(), sizeof mine))
        return base::fail(Status::environment, "the caller's allgather has failed");
    Offer common = mine;
    for (const Offer& offer : offers) {
        if (offer.members != mine.members)
            return base::fail(Status::argument,
                              "the members of the team pass different lists of members");
        common.free_regions &= offer.free_regions;
        const auto tick = static_cast<base::Tick>(offer.tick);
        if (base::tick_distance(tick, static_cast<base::Tick>(common.tick)) > 0) common.tick = tick;
    }
    if (common.free_regions == 0)
        return base::fail(Status::memory,
                          "no region is free on all members of the team; each rank can be in {} "
                          "teams at a time",
                          SegmentLayout::kTeams);
    const auto id = static_cast<std::uint32_t>(std::countr_zero(common.free_regions));
    return &add_team(id, std::move(job_ranks), static_cast<base::Tick>(common.tick));
}

std::vector<Team*> Runtime::abandoned_within(const Team& team) const {
    const std::vector<Rank>& ranks = team.state().setup.job_ranks;
    const std::set<Rank> members(ranks.begin(), ranks.end());
    std::vector<Team*> within;
    for (const auto& held : teams_) {
        if (held.get() == &team || !held->departure().abandoned || held->failed() ||
            !engine_->idle(held->state()))
            continue;
        if (std::ranges::all_of(held->state().setup.job_ranks,
                                [&](Rank rank) { return members.contains(rank); }))
            within.push_back(held.get());
    }
    std::ranges::sort(within, {}, &Team::id);
    return within;
}

bool Runtime::keeps_order() const {
    return job_.wire->remote().completion == base::RemoteCompletion::ordered;
}

std::uint64_t Runtime::network_writes() const {
    if (job_.wire == nullptr) return network_writes_;
    const link::FabricPort* const port = job_.wire->port();
    return port != nullptr ? port->writes() : 0;
}

base::Tick Runtime::tick_bound() const {
    const Turn::Hold hold = engine_->take_turn();
    base::Tick bound = retired_tick_;
    for (const auto& team : teams_) {
        const base::Tick next = team->state().next_tick & base::kTickMask;
        if (base::tick_distance(next, bound) > 0) bound = next;
    }
    return bound;
}

std::uint64_t Runtime::heap_offset(const void* memory) const {
    if (finalized_) return link::kNoOffset;
    const auto offset =
        reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(at(0));
    return offset >= layout_.heap && offset < layout_.bytes ? offset : link::kNoOffset;
}

std::byte* Runtime::on_rank(const void* memory, Rank job_rank) const {
    const std::uint64_t offset = heap_offset(memory);
    if (offset == link::kNoOffset) return nullptr;
    std::byte* const base = job_.wire->near(job_rank);
    return base == nullptr ? nullptr : base + offset;
}

void Runtime::wake_progress_thread() {
    if (progress_thread_) progress_thread_->wake();
}

bool Runtime::ended(const Operation& operation) {
    return engine_->ended(operation);
}

bool Runtime::test(const Operation& operation) {
    if (engine_->ended(operation)) return true;
    engine_->poll();
    if (engine_->ended(operation)) return true;
    engine_->relax();
    return false;
}

void Runtime::wait(Operation& operation) {
    engine_->wait(operation);
}

bool Runtime::wait(Operation& operation, base::Deadline deadline) {
    const Turn::Hold hold = engine_->take_turn();
    const auto over = [&] { return operation.ended() || deadline.passed(); };
    static_cast<void>(engine_->await(over, [] { return "wait_for: waiting for a started call"; }));
    return operation.ended();
}

void Runtime::abort(int status) {
    job_.sigterm_report->set_stage("ending the job");
    job_.bootstrap->abort(status, fmt::format("rank {} has called weft_abort with status {}",
                                              job_.bootstrap->rank(), status));
    __builtin_unreachable();  // g++ does not know this for a virtual function
}

base::Result<void> Runtime::finish(Operation& operation) {
    base::Result<void> outcome;
    if (operation.state == Operation::State::failed) outcome = operation.failure;
    engine_->release(operation);
    return outcome;
}

void Runtime::release(Operation& operation) {
    engine_->release(operation);
}

void Runtime::set_external(void (*function)(void* argument), void* argument) {
    const Turn::Hold hold = engine_->take_turn();
    external_.set(function, argument);
    job_.wire->waiter().allow_sleep(function == nullptr);
}

void Runtime::progress() {
    if (!finalized_ && !external_.running()) engine_->poll(Caller::passes_by);
}

base::Result<void> Runtime::settle_onesided() {
    const auto hold = engine_->take_turn();
    if (onesided_->quiet_all()) return {};
    return engine_->failure();
}

JobExchange Runtime::exchange() {
    return {.rank = world().rank(),
            .gather_texts = [this](const std::string& mine) { return gather_texts(world(), mine); },
            .gather_arrivals = [this] { return gather_arrivals(world()); }};
}

base::Result<void> Runtime::finalize() {
    if (finalized_) return {};
    finalized_ = true;
    progress_thread_.reset();  // from here on, this thread drives all the time
    base::Result<void> outcome = settle_onesided();
    if (outcome.ok()) outcome = settle_messages();
    engine_->drain();
    if (outcome.ok())
        outcome =
            reports_.write(exchange(), engine_->mapped_bytes(),
                           statistics_of(engine_->mapped_bytes(), job_.wire->memory().direct()),
                           {.node_of_rank = job_.node_of_rank, .hosts = job_.hosts});
    if (outcome.ok()) outcome = world().run(Call::barrier(), Purpose::finalize);
    job_.sigterm_report->set_stage("finalize: waiting for all ranks to be here");
    for (unsigned failures = 0; outcome.ok() && job_.wire->in_flight() != 0; ++failures) {
        if (job_.wire->failure() != nullptr) break;
        engine_->poll();
        job_.wire->relax(failures);
    }
    if (outcome.ok()) {
        // Peers may need this rank's progress until they have also reached this point.
        outcome = job_.bootstrap->start_fence();
        for (unsigned failures = 0; outcome.ok() && !job_.bootstrap->fence_ended(); ++failures) {
            engine_->poll();
            job_.wire->relax(failures);
        }
    }
    engine_->close({Status::argument, "the runtime has been finalized"});
    log_end(log_, job_, engine_->mapped_bytes());
    network_writes_ = network_writes();
    job_.wire.reset();
    job_.sigterm_report->set_stage("finalize: leaving the job");
    auto left = job_.bootstrap->finalize();
    job_.sigterm_report->retire();
    if (outcome.ok() && !left.ok()) return left;
    return outcome;
}

}  // namespace weft::run
