// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/virtual/farm/rank.hpp"

namespace weft::farm {

namespace {

constexpr rlim_t kSecondsMax = 60;  ///< processor time of a run; a longer run counts as endless

/// Binds the exchanges of the part, for all members.
void bind_exchanges(World& world, Script& script) {
    for (const std::size_t number : script.part) {
        const Act& act = world.scenario.acts[number];
        if (act.kind != Act::Kind::exchange) continue;
        const LiveTeam& team = world.teams[act.team];
        const Rank size = team.team->size();
        base::Random random(act.seed);
        const test::CountMatrix counts = test::draw_counts(random, size);
        for (Rank member = 0; member < size; ++member)
            script.exchanges[number].push_back(
                test::exchange_side(number, member, counts, counts, team.sketch->shape));
    }
}

/// Reports the errors that the watches of banks and of notifications have recorded.
void check_watches(World& world) {
    const test::BankWatch& watch = world.job().watch();
    if (world.scenario.watched && !world.expects_death()) {
        if (!watch.violations().empty()) world.fail(to_text(watch.violations().front()));
        if (!watch.faults().empty()) world.fail(watch.faults().front());
    }
    const test::NotifyWatch* const notify = world.job().notify_watch();
    if (notify != nullptr && !notify->early().empty()) world.fail(to_text(notify->early().front()));
}

}  // namespace

Report run_here(const Scenario& scenario, std::span<const std::size_t> part,
                std::uint64_t schedule) {
    World world(scenario, schedule);
    Script script{.part = part,
                  .made_by = std::vector<Rank>(scenario.acts.size()),
                  .failed_before = std::vector<Rank>(scenario.acts.size()),
                  .exchanges = {}};
    bind_exchanges(world, script);
    std::optional<Remote> remote;
    if (scenario.fabric) remote.emplace(world);
    if (remote) world.on_pause = [&](Rank rank) { remote->check_signals(rank); };
    std::deque<RankRun> ranks;
    for (Rank rank = 0; rank < scenario.size(); ++rank) {
        RankRun& rank_run = ranks.emplace_back(world, script, remote ? &*remote : nullptr, rank);
        world.fibers.add([&rank_run] { rank_run.run(); });
    }
    world.run();
    check_watches(world);
    return {world.wrong, script.operations, world.switches, world.trace};
}

Report run_in_child(const Scenario& scenario, std::span<const std::size_t> part,
                    std::uint64_t schedule) {
    int ends[2];
    WEFT_CHECK(pipe(ends) == 0, scenario.seed);
    const pid_t child = fork();
    WEFT_CHECK(child >= 0, scenario.seed);
    if (child == 0) {
        const rlimit limit{kSecondsMax, kSecondsMax + 5};
        setrlimit(RLIMIT_CPU, &limit);
        const Report report = run_here(scenario, part, schedule);
        const std::string text = fmt::format("{} {} {}\n{}", report.operations, report.switches,
                                             report.trace, report.wrong.substr(0, 3000));
        const bool written =
            write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    Report report;
    if (WIFSIGNALED(status)) {
        report.wrong = WTERMSIG(status) == SIGXCPU
                           ? fmt::format("no end within {} s", kSecondsMax)
                           : fmt::format("the process ended by signal {}", WTERMSIG(status));
        return report;
    }
    const std::size_t line = text.find('\n');
    if (line == std::string::npos) {
        report.wrong =
            fmt::format("the process ended with status {} and no report", WEXITSTATUS(status));
        return report;
    }
    std::sscanf(text.c_str(), "%lu %lu %lu", &report.operations, &report.switches, &report.trace);
    report.wrong = text.substr(line + 1);
    return report;
}

}  // namespace weft::farm
