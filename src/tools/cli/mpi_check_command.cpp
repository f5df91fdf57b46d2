// SPDX-License-Identifier: BSD-3-Clause
// mpi_check_command.cpp - `weft mpi-check`: shows whether the MPI layer serves a program's
// collectives, and how much time that saves.
//
// Idea     The program runs twice under the launcher of its MPI with the layer preloaded. In the
//          first run the layer passes all calls to the MPI library. The layer's statistics contain
//          the number and time of the calls.
// Next     src/faces/mpi/statistics.cpp, which prints the statistics.
#include <chrono>
#include <sstream>

#include "tools/cli/job_command.hpp"
#include "tools/launch/process.hpp"

namespace weft::tools {

namespace {

struct CheckArguments {
    int ranks = 2;
    std::string mpi;
    std::string program;
};

/// A run of the program with the layer. The numbers are sums over the lines of the layer's table:
/// `weft: NAME CALLS SERVED BYTES SERVED_MS HOST_MS`.
struct MpiTrial {
    double seconds = 0;
    std::string errors;  ///< output of the ranks on stderr, with the table
    long calls = 0;
    long served = 0;      ///< calls that the layer executed itself
    double calls_ms = 0;  ///< time in all calls
};

void add_table(MpiTrial& trial) {
    std::istringstream lines(trial.errors);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string mark, name;
        long calls = 0, served = 0, bytes = 0;
        double served_ms = 0, host_ms = 0;
        if (words >> mark >> name >> calls >> served >> bytes >> served_ms >> host_ms &&
            mark == "weft:") {
            trial.calls += calls;
            trial.served += served;
            trial.calls_ms += served_ms + host_ms;
        }
    }
}

/// Runs the program with the layer preloaded. serves: the layer executes calls itself; otherwise it
/// passes all of them to the MPI library.
MpiTrial try_program(const CheckArguments& arguments, const std::string& mpi,
                     const std::string& layer, bool serves) {
    // lint: allow(variable): variables of src/faces/mpi; docs/guide/mpi-backing.md
    const Words settings{serves ? "WEFT_MPI=on" : "WEFT_MPI=off", "WEFT_MPI_STATS=1"};
    const Words words = words_of({.mpi = mpi,
                                  .ranks = arguments.ranks,
                                  .settings = settings,
                                  .preload = {layer},
                                  .program = {arguments.program}});
    need(find_program(words.front()));
    const auto begun = std::chrono::steady_clock::now();
    const ProgramOutput output = output_of(in_quotes(words) + " 2>&1 >/dev/null </dev/null");
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun;
    if (output.status != 0)
        fail(Status::environment, "{} ended with status {} {} the layer:\n{}", arguments.program,
             output.status, serves ? "with" : "without", output.text);
    MpiTrial trial{.seconds = time.count(), .errors = output.text};
    add_table(trial);
    return trial;
}

int check_program(const CheckArguments& arguments) {
    const std::string mpi = mpi_of(arguments.program, arguments.mpi);
    const std::string layer = layer_for(mpi);
    const MpiTrial alone = try_program(arguments, mpi, layer, false);
    const MpiTrial with = try_program(arguments, mpi, layer, true);
    fmt::print("MPI: {}, {} ranks; layer: {}\n", mpi, arguments.ranks, layer);
    fmt::print("active: {}; {} of {} collective calls served\n", with.served > 0 ? "yes" : "no",
               with.served, with.calls);
    fmt::print("time in these calls, all ranks: {:.2f} ms by {} alone, {:.2f} ms with the layer\n",
               alone.calls_ms, mpi, with.calls_ms);
    fmt::print("time of the program: {:.2f} s by {} alone, {:.2f} s with the layer\n",
               alone.seconds, mpi, with.seconds);
    fmt::print("{}", with.errors);
    return with.served > 0 ? 0 : kAnswerIsNo;
}

}  // namespace

void add_mpi_check_command(CLI::App& app) {
    const auto [command, arguments] = add_command<CheckArguments>(
        app, "mpi-check", "whether the layer for MPI serves a program, and the time it saves",
        &check_program);
    add_option(*command, "program", arguments->program,
               "an MPI program that ends without input; it runs twice, its output is dropped")
        .required();
    add_option(*command, "-n", arguments->ranks, "ranks").within(1, 4096);
    add_option(*command, "--mpi", arguments->mpi,
               "the MPI of the program; default: the one it is linked with")
        .one_of({"openmpi", "mpich"});
}

}  // namespace weft::tools
