// SPDX-License-Identifier: BSD-3-Clause
// fit_command.cpp - `weft fit`: measures and fits the cost of puts on the nodes of this job.
//
// Idea     Everything is measured in several separate passes, because machines have modes that last
//          for seconds or minutes; passes.hpp selects among them.
// Next     fit_measure.hpp for the measurements, fit_report.hpp for the costs.
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/cli/command.hpp"
#include "tools/cli/fit_measure.hpp"
#include "tools/cli/fit_report.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/measure/passes.hpp"

namespace weft::tools {

namespace {

struct FitArguments {
    std::string output;
    int repetitions = 300;
    int passes = 5;
    double pause = 3;
};

FitPass measure_pass(FitRanks& ranks, PutMeasure& puts, MemoryMeasure& memory) {
    FitPass found;
    if (!ranks.local_peers().empty())
        found.ways.push_back(puts.measure("near", ranks.local_peers()));
    if (!ranks.remote_peers().empty())
        found.ways.push_back(puts.measure("far", ranks.remote_peers()));
    found.copies = memory.copies();
    puts.time_flag();
    found.memory = memory.own_memory();
    found.adoption = memory.adoption();
    puts.time_flag();
    found.flags_us = puts.take_flags();
    return found;
}

/// Measures in passes; rank 0 prints progress.
base::Result<void> fit_in_passes(Runtime& runtime, const FitArguments& arguments) {
    FitRanks ranks(runtime.world());
    PutMeasure puts(ranks, arguments.repetitions);
    MemoryMeasure memory(ranks, arguments.repetitions);
    std::vector<FitPass> passes;
    std::vector<lab::Pass> seen;
    const bool tells = runtime.world().rank() == 0;
    while (std::ssize(passes) < arguments.passes) {
        if (!passes.empty() && arguments.pause > 0) ranks.pause(arguments.pause);
        passes.push_back(measure_pass(ranks, puts, memory));
        if (!tells) continue;
        seen.push_back(seen_of(passes.back()));
        print_pass(seen.back(), seen.size(), arguments.passes);
    }
    if (!tells) return base::Done{};
    const lab::ChosenPasses chosen = lab::choose_passes(seen);
    print_modes(chosen);
    const Json report = report_of(runtime, passes, seen, chosen);
    print_text(report);
    if (arguments.output.empty()) return base::Done{};
    return write_file("--output", arguments.output, report.dump(2) + "\n");
}

base::Result<int> fit(const FitArguments& arguments) {
    Runtime runtime;
    if (runtime.world().size() < 2) {
        runtime.finalize();
        return base::fail(Status::argument, "one rank has no peers: weft run -n 9 weft fit");
    }
    const base::Result<void> written = fit_in_passes(runtime, arguments);
    runtime.finalize();
    if (!written) return written.failure();
    return 0;
}

int run_fit(const FitArguments& arguments) {
    try {
        const auto status = fit(arguments);
        return status ? *status : refuse("fit", status.failure());
    } catch (const Error& error) {
        return refuse("fit", {error.status(), error.what()});
    }
}

}  // namespace

void add_fit_command(CLI::App& app, int& exit_status) {
    auto arguments = std::make_shared<FitArguments>();
    CLI::App& command = add_command(
        app, "fit", "measure the costs of puts on the nodes of this job (start it with weft run)");
    add_option(command, "--output", arguments->output,
               "write a file of parameters for --params of cost, simulate and explain");
    add_option(command, "--repetitions", arguments->repetitions, "samples of each figure")
        .within(3, 100'000)
        .shows_default();
    add_option(command, "--passes", arguments->passes,
               "number of repetitions of all measurements, because a machine may change its speed")
        .within(1, 1000)
        .shows_default();
    add_option(command, "--pause", arguments->pause, "seconds between two passes")
        .within(0.0, 3600.0)
        .shows_default();
    on_run(command, exit_status, [arguments] { return run_fit(*arguments); });
}

}  // namespace weft::tools
