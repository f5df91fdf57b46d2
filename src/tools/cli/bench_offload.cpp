// SPDX-License-Identifier: BSD-3-Clause
// bench_offload.cpp - `weft bench --offload`: time of a call that the network runs, compared with
// an ordinary started call.
//
// Idea     For each size it reports four medians over rounds: both kinds of call, with all ranks
//          present, and with one rank that starts its part and then sleeps. The slowest rank that
//          does not sleep determines a round's time.
// Why      Offload lets the other ranks complete while one does not poll. The sleeping rank is one
//          that forwards messages in trees and exchanges.
// Holds    Results are checked, also on the sleeping rank. Clock readings of different ranks are
//          compared, so all ranks must run on one host.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.hpp"
#include "base/element_types.hpp"
#include "run/runtime.hpp"
#include "run/team/offload.hpp"
#include "tools/cli/bench_plan.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/table.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::tools {

namespace {

constexpr std::uint64_t kRounds = 50;     ///< rounds without a sleeping rank; default
constexpr std::uint64_t kAwayRounds = 3;  ///< rounds with a sleeping rank; each takes --away-ms
/// The sleeping rank starts this much earlier than the others, so it sleeps when they start.
constexpr double kHeadStartMs = 10;

class OffloadRounds {
  public:
    OffloadRounds(run::Runtime& runtime, const BenchPlan& plan, std::uint64_t bytes)
        : runtime_(runtime), team_(runtime.world()), plan_(plan) {
        const collectives::CollectiveTraits& traits = *plan.traits;
        call_.collective = traits.collective;
        if (!traits.has_data()) return;
        call_.type = plan.call.type;
        call_.op = plan.call.op;
        call_.count = bytes / base::size_of(plan.call.type);
        if (traits.rooted()) call_.root = plan.call.root;
        oracle_.emplace(facts_of_call(team_.size(), bytes, plan.call), team_.rank());
        in_.resize(bytes);
        out_.resize(bytes);
    }

    base::Result<Json> run() {
        auto made = run::OffloadedCall::create(
            team_, call_, {.algorithm = plan_.algorithm(), .budget = plan_.request.offload_budget});
        if (!made) return made.failure();
        offloaded_ = *std::move(made);
        const std::uint64_t rounds =
            plan_.measuring.iterations != 0 ? plan_.measuring.iterations : kRounds;
        const std::uint64_t away_rounds = plan_.request.away_ms > 0 ? kAwayRounds : 0;
        for (std::uint64_t i = 0; i < rounds + away_rounds; ++i)
            for (const bool offloads : {false, true})
                if (auto done = round(offloads, i >= rounds); !done) return done.failure();
        return facts(rounds);
    }

  private:
    struct Interval {
        std::uint64_t begin = 0;  ///< monotonic ns
        std::uint64_t end = 0;
    };
    /// Results of ordinary or of offloaded calls; one time for each round.
    struct CallTimes {
        std::vector<double> present_us;  ///< rounds without a sleeping rank
        std::vector<double> away_us;     ///< rounds with a sleeping rank
        std::uint64_t early = 0;  ///< rounds in which was_within(): the other ranks did not wait
    };

    [[nodiscard]] Rank sleeper() const {
        const Rank root = call_.root >= 0 ? call_.root : 0;
        return (root + team_.size() / 2) % team_.size();
    }

    void prepare() {
        ++batch_;
        if (!oracle_) return;
        oracle_->write(batch_, in_.data());
        std::fill(out_.begin(), out_.end(), std::byte{0x5a});
        if (team_.rank() == call_.root) out_ = in_;
    }

    static void sleep(double ms) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
    }
    [[nodiscard]] Interval be_away() const {
        Interval absence{.begin = base::monotonic_ns()};
        sleep(kHeadStartMs + plan_.request.away_ms);
        absence.end = base::monotonic_ns();
        return absence;
    }

    /// Times one call. offloads: the network runs it; away: one rank sleeps.
    base::Result<void> round(bool offloads, bool away) {
        prepare();
        if (const auto* const failure = team_.run(Call::barrier(), run::Purpose::observing))
            return *failure;
        const bool sleeps = away && team_.rank() == sleeper();
        if (away && !sleeps) sleep(kHeadStartMs);
        Interval absence;
        Interval call{.begin = base::monotonic_ns()};
        if (offloads) {
            const std::uint64_t queued = offloaded_->queued();
            if (auto done = offloaded_->start(in_.data(), out_.data()); !done) return done;
            if (sleeps) {
                const std::uint64_t entries = offloaded_->entries();
                absence = be_away();
                entries_away_ += static_cast<double>(offloaded_->entries() - entries);
            }
            if (auto done = offloaded_->wait(); !done) return done;
            queued_ = offloaded_->queued() - queued;
        } else {
            Call ordinary = call_;
            ordinary.in = call_.root >= 0 ? out_.data() : in_.data();
            ordinary.out = out_.data();
            auto started = team_.start(ordinary);
            if (!started) return started.failure();
            if (sleeps) absence = be_away();
            runtime_.calls().wait(**started);
            auto ended = runtime_.calls().finish(**started);
            if (!ended) return ended;
        }
        call.end = base::monotonic_ns();
        double us = sleeps ? 0 : static_cast<double>(call.end - call.begin) / 1000;
        if (oracle_ && !oracle_->holds(batch_, out_.data())) wrong_ = 1;
        if (auto done = largest(us); !done) return done;
        CallTimes& kind = offloads ? offloaded_calls_ : ordinary_calls_;
        (away ? kind.away_us : kind.present_us).push_back(us);
        if (!away) return {};
        const auto within = was_within(sleeps, absence, call);
        if (!within) return within.failure();
        kind.early += *within ? 1 : 0;
        return {};
    }

    /// Returns true if one rank slept from before the first start to after the last end of the
    /// other ranks. Collective.
    base::Result<bool> was_within(bool sleeps, const Interval& absence, const Interval& call) {
        constexpr double kNever = std::numeric_limits<double>::lowest();
        double first = sleeps ? kNever : -static_cast<double>(call.begin);  // largest: the earliest
        double last = sleeps ? kNever : static_cast<double>(call.end);
        double asleep = sleeps ? static_cast<double>(absence.begin) : kNever;
        double awake = sleeps ? static_cast<double>(absence.end) : kNever;
        for (double* value : {&first, &last, &asleep, &awake})
            if (auto done = largest(*value); !done) return done.failure();
        return asleep < -first && last < awake;
    }

    base::Result<void> largest(double& value) {  // over the ranks
        return team_.run(Call::allreduce(&value, &value, 1, Type::float64, Op::max),
                         run::Purpose::observing);
    }

    base::Result<Json> facts(std::uint64_t rounds) {
        std::vector<std::uint64_t> descriptors(static_cast<std::size_t>(team_.size()));
        if (const base::Failure* const failure =
                team_.run(Call::allgather(&queued_, descriptors.data(), 1, Type::uint64),
                          run::Purpose::observing))
            return *failure;
        for (double* value : {&wrong_, &entries_away_})
            if (auto done = largest(*value); !done) return done.failure();
        const auto median = [](const std::vector<double>& times) {
            return times.empty() ? 0 : lab::median(times);
        };
        return Json{{"algorithm", offloaded_->algorithm()},
                    {"bytes", in_.size()},
                    {"iterations", rounds},
                    {"descriptors", descriptors},
                    {"started_us", median(ordinary_calls_.present_us)},
                    {"offloaded_us", median(offloaded_calls_.present_us)},
                    {"started_away_us", median(ordinary_calls_.away_us)},
                    {"offloaded_away_us", median(offloaded_calls_.away_us)},
                    {"started_early", ordinary_calls_.early},
                    {"offloaded_early", offloaded_calls_.early},
                    {"entries_away", static_cast<std::uint64_t>(entries_away_)},
                    {"checked", wrong_ == 0}};
    }

    run::Runtime& runtime_;
    run::Team& team_;
    const BenchPlan& plan_;
    Call call_;
    std::unique_ptr<run::OffloadedCall> offloaded_;
    std::optional<oracle::Oracle> oracle_;  ///< none for a barrier
    std::vector<std::byte> in_;
    std::vector<std::byte> out_;
    std::uint64_t batch_ = 0;
    CallTimes ordinary_calls_;
    CallTimes offloaded_calls_;
    std::uint64_t queued_ = 0;  ///< descriptors that this rank queued in the last offloaded call
    double entries_away_ = 0;   ///< calls into the network while this rank slept, all rounds
    double wrong_ = 0;          ///< 1: a result was wrong
};

RowReport report_of(run::Runtime& runtime, const BenchPlan& plan) {
    run::Team& world = runtime.world();
    const auto us = [](const char* title, const char* key) {
        return Column{.title = title, .key = key, .width = 13, .digits = 3};
    };
    return {
        world.rank() == 0,
        plan.request.json,
        {{"collective", plan.name},
         {"offload", true},
         {"ranks", world.size()},
         {"nodes", world.nodes()},
         {"provider", runtime.job().provider},
         {"type", plan.type},
         {"op", plan.reduces() ? plan.request.op : "none"},
         {"budget", plan.request.offload_budget},
         {"away_ms", plan.request.away_ms}},
        fmt::format("offloaded {} on {} ranks, {} nodes, provider {}\naway: one rank starts first, "
                    "and sleeps until {} ms after the others, which are timed, have started",
                    plan.name, world.size(), world.nodes(), runtime.job().provider,
                    plan.request.away_ms),
        {{"bytes", "bytes"},
         {"descriptors", "descriptors", 11},
         us("started_us", "started_us"),
         us("offloaded_us", "offloaded_us"),
         us("started_away", "started_away_us"),
         us("offload_away", "offloaded_away_us"),
         {"algorithm", "algorithm", -9},
         verdict()}};
}

}  // namespace

int bench_offload(const BenchPlan& plan) {
    const auto joined = need(run::Runtime::create(environ));
    run::Runtime& runtime = *joined;
    const auto leave = [&](const base::Failure& failure) {
        if (runtime.world().rank() == 0)
            fmt::print(stderr, "weft bench --offload: {}\n", failure.text);
        static_cast<void>(runtime.finalize());
        return exit_status_of(failure.status);
    };
    if (plan.rooted() && plan.call.root >= runtime.world().size())
        return leave(base::fail(Status::argument, "--root: {} is not a rank", plan.call.root));
    RowReport report = report_of(runtime, plan);
    for (const std::uint64_t bytes : plan.bytes) {
        const auto row = OffloadRounds(runtime, plan, bytes).run();
        if (!row) return leave(row.failure());
        report.add(*row);
    }
    const int status = report.finish();
    need(runtime.finalize());
    return status;
}

}  // namespace weft::tools
