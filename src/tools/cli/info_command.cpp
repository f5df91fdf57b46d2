// SPDX-License-Identifier: BSD-3-Clause
// info_command.cpp - `weft info`: describes this job, or this machine's resources for a job.
//
// Idea     Without a launcher this process is a job of one rank, which still queries the network.
//          Under a launcher every rank runs the command and rank 0 prints.
// Holds    An unusable network is a result, not a failure, unless the job needs it.
// Next     info_report.hpp for the contents; run/job/describe.hpp for their source.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "collectives/collective_traits.hpp"
#include "run/runtime.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/exit_status.hpp"
#include "tools/cli/info_report.hpp"
#include "tools/cli/job_command.hpp"
#include "topology/hwloc_reader.hpp"

namespace weft::tools {

namespace {

struct InfoArguments {
    bool environment = false;
    bool json = false;
    std::string provider;
};

int tell_environment(bool json) {
    const auto settings = base::read_settings(environ, collectives::kCollectiveNames);
    if (!settings) return refuse("info", settings.failure());
    if (!is_first_rank()) return 0;
    const auto table = environment_json(*settings);
    fmt::print("{}", json ? json_text(table) + "\n" : environment_text(table));
    return 0;
}

int tell_provider(const InfoArguments& arguments) {
    const auto settings = base::read_settings(environ, collectives::kCollectiveNames);
    if (!settings) return refuse("info", settings.failure());
    const auto provider = run::describe_provider(*settings, arguments.provider);
    if (!provider) return refuse("info --provider", provider.failure());
    if (!is_first_rank()) return 0;
    const Json report = provider_json(*provider);
    fmt::print("{}", arguments.json ? json_text(report) + "\n" : provider_text(report));
    return 0;
}

/// Called on all ranks; rank 0 prints.
base::Result<void> report(run::Runtime& runtime, bool json) {
    if (runtime.world().rank() != 0) return runtime.finalize();
    auto machine = topology::read_machine();
    if (!machine) return machine.failure();
    const auto info =
        info_json({run::describe(runtime.job(), runtime.settings(), runtime.kernels(), true),
                   *std::move(machine), runtime.settings(), runtime.layout()});
    fmt::print("{}", json ? json_text(info) + "\n" : info_text(info));
    return runtime.finalize();
}

int info(const InfoArguments& arguments) {
    if (arguments.environment) return tell_environment(arguments.json);
    if (!arguments.provider.empty()) return tell_provider(arguments);
    auto runtime = run::Runtime::create(environ);
    if (!runtime) return refuse("info", runtime.failure());
    const auto reported = report(**runtime, arguments.json);
    return reported ? 0 : refuse("info", reported.failure());
}

}  // namespace

void add_info_command(CLI::App& app, int& exit_status) {
    const auto arguments = std::make_shared<InfoArguments>();
    CLI::App& command = add_command(
        app, "info", "what this machine, or this job, has: versions, network, memory, settings");
    add_flag(command, "--environment", arguments->environment,
             "print only the table of WEFT_* variables");
    add_flag(command, "--json", arguments->json, "one JSON object on stdout");
    add_option(command, "--provider", arguments->provider,
               "what a job would do over a provider of libfabric, which need not be here");
    set_footer(
        command,
        "Alone it describes this machine. Started with weft run -n N -- weft info, the first\n"
        "rank describes that job.");
    on_run(command, exit_status, [arguments] { return info(*arguments); });
}

}  // namespace weft::tools
