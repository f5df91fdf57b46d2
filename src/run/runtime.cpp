// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime.hpp"

#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/fork_guard.hpp"
#include "run/job/describe.hpp"
#include "run/job/real_engine.hpp"

namespace weft::run {

namespace {

/// Time that a wait continues after a peer is lost, so that a launcher can end the job before.
constexpr std::uint64_t kLingerNs = 1'000'000'000;

/// Both arguments are equal on all ranks, so the result is, too.
bool wants_progress_thread(base::ProgressMode mode, int nodes) {
    return mode == base::ProgressMode::thread || (mode == base::ProgressMode::remote && nodes > 1);
}

TurnKind turn_for(const base::Settings& settings, int nodes) {
    if (settings.threads == base::ThreadLevel::multiple) return TurnKind::divided;
    return wants_progress_thread(settings.progress, nodes) ? TurnKind::shared : TurnKind::own;
}

/// Returns the members' texts on rank 0, and an empty list on other ranks. Each text is sent as
/// words: its length in bytes, then the text, padded to the longest one.
base::Result<std::vector<std::string>> gather_texts(Team& team, const std::string& mine) {
    const std::uint64_t length = mine.size();
    const std::uint64_t needed = (length + 2 * sizeof length - 1) / sizeof length;
    std::uint64_t words = needed;
    if (const base::Failure* const why =
            team.run(Call::allreduce(&words, &words, 1, Type::uint64, Op::max), Purpose::observing))
        return *why;
    WEFT_TRY(check_longest(words, needed, team.size()));
    const std::size_t members = team.rank() == 0 ? static_cast<std::size_t>(team.size()) : 0;
    std::vector<std::uint64_t> own(words);
    own[0] = length;
    std::memcpy(own.data() + 1, mine.data(), length);
    std::vector<std::uint64_t> all(words * members);
    if (const base::Failure* const why = team.run(
            Call::gather(own.data(), all.data(), words, Type::uint64, 0), Purpose::observing))
        return *why;
    std::vector<std::string> texts;
    for (std::size_t member = 0; member < members; ++member) {
        const std::uint64_t* const from = all.data() + member * words;
        const std::uint64_t bytes_max = (words - 1) * sizeof *from;
        if (*from > bytes_max)
            return base::fail(Status::peer, "rank {} sent a text of {} bytes, at most {} fit",
                              member, *from, bytes_max);
        texts.emplace_back(reinterpret_cast<const char*>(from + 1), *from);
    }
    return texts;
}

/// Compares the clocks of all ranks. Collective.
base::Result<ClockOffsets> compare_clocks(Team& team) {
    constexpr std::size_t kRounds = 12;  // the shortest round is used
    std::vector<ClockRound> rounds(kRounds);
    for (ClockRound& round : rounds) {
        std::uint64_t token = 0;
        round.begin_ns = base::monotonic_ns();
        if (const base::Failure* const why =
                team.run(Call::broadcast(&token, 1, Type::uint64, 0), Purpose::observing))
            return *why;
        std::uint64_t arrived_ns = base::monotonic_ns();
        round.arrived_ns.resize(team.rank() == 0 ? static_cast<std::size_t>(team.size()) : 0);
        if (const base::Failure* const why =
                team.run(Call::gather(&arrived_ns, round.arrived_ns.data(), 1, Type::uint64, 0),
                         Purpose::observing))
            return *why;
        round.end_ns = base::monotonic_ns();
    }
    return offsets_of(rounds);
}

}  // namespace

base::Result<std::unique_ptr<Runtime>> Runtime::create(const char* const* environment,
                                                       std::unique_ptr<link::Bootstrap> bootstrap) {
    const bool joins_callers_job = bootstrap != nullptr;
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
    // One thread at a time: PMIx and libfabric have process-wide state; ranks join in equal order.
    static std::mutex joining;
    const std::lock_guard held(joining);
    auto job = WEFT_TRY(join(*settings, std::move(bootstrap), prices_by(measured->costs)));
    base::set_guarded_rank(job.bootstrap->rank());
    std::unique_ptr<Runtime> runtime(
        new Runtime(std::move(*settings), std::move(*measured), std::move(job), *kernels));
    if (!joins_callers_job) WEFT_TRY(runtime->begin_reports());
    return runtime;
}

base::Result<void> Runtime::begin_reports() {
    if (settings_.trace.empty()) return {};
    auto clocks = compare_clocks(world());
    if (!clocks) return clocks.failure().within("WEFT_TRACE");
    clocks_ = *std::move(clocks);
    return {};
}

Runtime::Runtime(base::Settings settings, MeasuredFiles measured, Job job,
                 const ReduceTable& kernels)
    : settings_(std::move(settings)),
      measured_(std::move(measured)),
      layout_(job.bootstrap->size(), settings_),
      kernels_(kernels),
      job_(std::move(job)),
      log_(settings_, job_.bootstrap->rank()),
      recorder_(recorder_for(settings_, job_.bootstrap->size())),
      engine_(std::make_unique<RealEngine>(*job_.wire, job_.bootstrap->rank(), engine_options())),
      onesided_(std::make_unique<RealOneSided>(*job_.wire, *engine_, layout_.onesided,
                                               job_.bootstrap->rank())),
      progress_(job_, *engine_),
      messages_(job_, layout_.messages, *engine_, *onesided_, progress_),
      setup_(settings_.threads == base::ThreadLevel::multiple),
      services_{.settings = settings_,
                .log = log_,
                .job = job_,
                .layout = layout_,
                .measured = measured_,
                .kernels = kernels_,
                .recorder = recorder(),
                .engine = *engine_,
                .onesided = *onesided_,
                .progress = progress_},
      teams_(services_, setup_,
             [this](const Team& team) {
                 heap_.end_team(team);
                 registered_.end_team(team);
                 const Turn::Hold hold = engine_->take_turn();
                 onesided_->streams().close_of(team.serial());
             }),
      memory_{services_,
              messages_,
              setup_,
              /*segment=*/job_.wire->near(job_.bootstrap->rank()),
              /*heap=*/layout_.heap,
              /*end=*/layout_.bytes},
      heap_(memory_),
      registered_(memory_) {
    job_.sigterm_report->set_file(log_.file());
    log_start(log_, job_, settings_, kernels_);
    teams_.add_world();
    if (wants_progress_thread(settings_.progress, job_.nodes)) progress_.start_thread();
}

EngineOptions Runtime::engine_options() {
    SigtermReport& report = *job_.sigterm_report;
    std::function<std::optional<Rank>()> next_death;  // empty: deaths end the job
    if (settings_.on_failure == base::FailureAction::proceed)
        next_death = [this] { return job_.ends.next(); };
    return {.watchdog = {.timeout_ns = settings_.timeout_ns,
                         .linger_ns = kLingerNs,
                         .abort_on_timeout = settings_.timeout_action == base::TimeoutAction::abort,
                         .next_death = std::move(next_death),
                         .report = [this](const std::string& line) { log_.warn(line); },
                         .abort = [this](const std::string& why) { job_.abort(3, why); },
                         .status_request = &report.status_request(),
                         .answer = [&report](const std::string& line) { report.answer(line); }},
            .turn = turn_for(settings_, job_.nodes),
            .recorder = recorder()};
}

/// Destroys the wire before the engine: closing the network still writes to its operations.
Runtime::~Runtime() {
    progress_.close();
    job_.wire.reset();
}

std::uint64_t Runtime::network_writes() const {
    if (job_.wire == nullptr) return network_writes_;
    const link::FabricPort* const port = job_.wire->port();
    return port != nullptr ? port->writes() : 0;
}

void Runtime::abort(int status) {
    job_.abort(status, fmt::format("rank {} has called weft_abort with status {}",
                                   job_.bootstrap->rank(), status));
    __builtin_unreachable();  // Job::abort() does not return, but is not [[noreturn]]
}

base::Result<void> Runtime::write_reports() {
    if (!recorder_) return {};
    TraceContext context{.nodes = job_.node_of_rank, .hosts = job_.hosts, .clocks = {}};
    if (clocks_) context.clocks = {*clocks_, WEFT_TRY(compare_clocks(world()))};
    const auto memory = memory_counts(engine_->mapped_bytes(), job_.wire->memory().direct());
    const auto packed =
        WEFT_TRY(gather_texts(world(), packed_report(*recorder_, engine_->mapped_bytes(), memory)));
    if (world().rank() != 0) return {};
    return run::write_reports(packed, memory, context, settings_, log_);
}

/// Makes the last exchanges of a job in which no rank has died. Returns when all have entered.
base::Result<void> Runtime::meet_all() {
    WEFT_TRY(write_reports());
    if (const base::Failure* const why = world().run(Call::barrier(), Purpose::finalize))
        return *why;
    job_.sigterm_report->set_stage("finalize: waiting for all ranks to call finalize");
    const auto poll = [&](unsigned idle_polls) {
        engine_->poll();
        job_.wire->relax(idle_polls);
    };
    for (unsigned i = 0; job_.wire->in_flight() != 0 && job_.wire->failure() == nullptr; ++i)
        poll(i);
    // Peers may need this rank's progress until they have also reached this fence.
    WEFT_TRY(job_.bootstrap->start_fence());
    for (unsigned i = 0; !job_.bootstrap->fence_ended(); ++i) poll(i);
    return {};
}

/// Makes the last exchanges of a job that continues after deaths. Returns when all survivors have
/// entered. The reports need all ranks, so they are not written after a death.
base::Result<void> Runtime::meet_survivors() {
    job_.sigterm_report->set_stage("finalize: waiting for all survivors to call finalize");
    const auto agreed = WEFT_TRY(agree(world(), world().failed() ? 0 : 1));
    // All survivors have entered, so their last messages have been sent: handle these.
    for (Rank peer = 0; peer < world().size(); ++peer) engine_->poll();
    if (agreed.word != 0 && agreed.dead.count() == 0) static_cast<void>(write_reports());
    return agree_at_end(world());
}

base::Result<void> Runtime::finalize() {
    if (finalized_) return {};
    finalized_ = true;
    progress_.close();  // from here on, only this thread drives the engine
    memory_.end = 0;
    messages_.close();
    const bool survives = settings_.on_failure == base::FailureAction::proceed;
    base::Result<void> outcome = settle(*engine_, *onesided_);
    if (outcome.ok() || survives) outcome = messages_.settle();
    engine_->drain();
    if (survives)
        outcome = meet_survivors();
    else if (outcome.ok())
        outcome = meet_all();
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
