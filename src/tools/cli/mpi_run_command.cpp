// SPDX-License-Identifier: BSD-3-Clause
// mpi_run_command.cpp - `weft mpi-run`: starts an MPI program with the layer for its MPI.
//
// Idea     The launcher starts `env LD_PRELOAD=LAYER PROGRAM`, so that only the ranks load the
//          layer, under any launcher.
// Next     src/faces/mpi/loading.cpp, which reports an inactive layer at the end.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/cli/job_command.hpp"
#include "tools/launch/process.hpp"

namespace weft::tools {

namespace {

struct MpiRunArguments {
    std::optional<Rank> ranks;
    std::string mpi;
    std::string launcher;
    Words variables;
};

/// Returns --launcher, split at white space; else srun in a Slurm job; else the MPI's launcher, or
/// mpiexec or mpirun if that is not installed.
Words launcher_of(const MpiRunArguments& arguments, const std::string& mpi) {
    if (!arguments.launcher.empty()) return split_at_blanks(arguments.launcher);
    if (std::getenv("SLURM_JOB_ID") != nullptr && find_program("srun")) return {"srun"};
    Words launcher = default_launcher(mpi);
    if (!find_program(launcher.front())) launcher.front() = mpi == "mpich" ? "mpiexec" : "mpirun";
    return launcher;
}

int start(const MpiRunArguments& arguments, const Words& program) {
    if (program.empty()) refuse("no program is given: weft mpi-run -n 4 PROGRAM");
    const std::string mpi = mpi_of(program.front(), arguments.mpi);
    const Rank ranks = arguments.ranks.value_or(0);
    const char* const given = std::getenv("LD_PRELOAD");
    MpiJob job{.mpi = mpi,
               .ranks = ranks,
               .preload = {layer_for(mpi), yielding_library(mpi, ranks), given ? given : ""},
               .program = program,
               .launcher = launcher_of(arguments, mpi)};
    constexpr std::string_view kPreload = "LD_PRELOAD=";
    for (const std::string& variable : arguments.variables) {
        if (const std::size_t end = variable.find('='); end == std::string::npos || end == 0)
            refuse("-x {}: expected NAME=VALUE", variable);
        if (variable.starts_with(kPreload))
            job.preload.push_back(variable.substr(kPreload.size()));
        else
            job.settings.push_back(variable);
    }
    Words command = words_of(job);
    command.front() = need(find_program(command.front()));
    become_program(command);  // so signals reach the launcher
    fail(Status::environment, "cannot start {}: {}", command.front(), std::strerror(errno));
}

}  // namespace

void add_mpi_run_command(CLI::App& app, const Words& program) {
    const auto [command, arguments] = add_command<MpiRunArguments>(
        app, "mpi-run", "start an MPI program whose collectives weft executes",
        [&program](const MpiRunArguments& given) { return start(given, program); }, "weft mpi-run");
    add_option(*command, "-n", arguments->ranks, "number of ranks; default: the launcher decides")
        .within(1, 1'000'000);
    add_option(*command, "--mpi", arguments->mpi,
               "the program's MPI; required if ldd cannot show it, for example for a script")
        .one_of({"openmpi", "mpich"});
    add_option(*command, "--launcher", arguments->launcher,
               "launcher command; default: srun in a Slurm job, else the MPI's launcher");
    add_option(*command, "-x", arguments->variables,
               "environment variable of the ranks, as NAME=VALUE")
        .one_value_each();
    set_footer(
        *command,
        "The first word that is neither an option nor the value of an option is the program;\n"
        "-- may precede it. Exit status: the launcher's; 2 for invalid arguments; 3 if\n"
        "the launcher or the layer is missing.");
}

}  // namespace weft::tools
