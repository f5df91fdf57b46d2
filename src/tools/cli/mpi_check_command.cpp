// SPDX-License-Identifier: BSD-3-Clause
// mpi_check_command.cpp - `weft mpi-check`: tells whether the MPI layer serves a program,
// and its gain.
//
// Idea     The program runs twice under the launcher of its MPI with the layer preloaded: once with
//          all calls handed back, once normally. The layer's statistics give the other results.
// Next     src/faces/mpi/statistics.cpp, which prints the statistics.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tools/cli/command.hpp"
#include "tools/cli/mpi_jobs.hpp"
#include "tools/launch/process.hpp"

namespace weft::tools {

namespace {

struct CheckArguments {
    int ranks = 2;
    std::string mpi;
    std::string program;
};

/// Returns the MPI that a program is linked with, by ldd.
base::Result<std::string> mpi_of(const std::string& program) {
    const std::string libraries = output_of("ldd", program);
    if (libraries.find("libmpi.so") != std::string::npos) return std::string("openmpi");
    if (libraries.find("libmpich.so") != std::string::npos) return std::string("mpich");
    return base::fail(Status::argument,
                      "{} is not linked with Open MPI or MPICH as far as ldd tells: say --mpi "
                      "openmpi or --mpi mpich",
                      program);
}

struct Trial {
    int status = 0;  ///< as a shell would report it
    double seconds = 0;
    std::string errors;  ///< output of the ranks on stderr, with the statistics
};

/// mode: value of WEFT_MPI.
Words launch_words(const std::string& mpi, const std::string& layer, const char* mode,
                   const CheckArguments& arguments) {
    // lint: allow(variable): those of src/faces/mpi; docs/guide/mpi-backing.md
    const char* const statistics = "WEFT_MPI_STATS=1";
    return words_of({.mpi = mpi,
                     .ranks = arguments.ranks,
                     .settings = {fmt::format("LD_PRELOAD={}", layer),
                                  fmt::format("WEFT_MPI={}", mode), statistics},
                     .program = {arguments.program},
                     .launcher = {}});
}

base::Result<Trial> try_program(const Words& words) {
    const auto launcher = find_program(words.front());
    if (!launcher) return launcher.failure();
    std::FILE* const errors = std::tmpfile();
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (errors == nullptr || nothing < 0)
        return base::fail(Status::environment, "no temporary file, or no /dev/null");
    SpawnOptions options{.program = *launcher, .arguments = words, .environment = {}};
    for (char** one = environ; *one != nullptr; ++one) options.environment.emplace_back(*one);
    options.input = options.output = nothing;
    options.error = fileno(errors);
    const auto begun = std::chrono::steady_clock::now();
    const auto child = spawn(options);
    if (!child) return child.failure();
    int status = 0;
    ::waitpid(*child, &status, 0);
    Trial trial{.status = shell_status(status)};
    trial.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    std::rewind(errors);
    char buffer[4096];
    while (std::fgets(buffer, sizeof buffer, errors) != nullptr) trial.errors += buffer;
    std::fclose(errors);
    ::close(nothing);
    return trial;
}

/// Sums of the layer's table.
struct Sums {
    long calls = 0;
    long served = 0;
    double ms = 0;
};

Sums sums_of(const std::string& errors) {
    Sums sums;
    std::istringstream lines(errors);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string mark, name;
        long calls = 0, served = 0, bytes = 0;
        double served_ms = 0, host_ms = 0;
        if (words >> mark >> name >> calls >> served >> bytes >> served_ms >> host_ms &&
            mark == "weft:") {
            sums.calls += calls;
            sums.served += served;
            sums.ms += served_ms + host_ms;
        }
    }
    return sums;
}

base::Result<int> check_program(const CheckArguments& arguments) {
    std::string mpi = arguments.mpi;
    if (mpi.empty()) {
        auto found = mpi_of(arguments.program);
        if (!found) return found.failure();
        mpi = *found;
    }
    const auto layer = layer_for(mpi);
    if (!layer) return layer.failure();
    Trial trials[2];
    for (int served = 0; served < 2; ++served) {
        auto trial = try_program(launch_words(mpi, *layer, served != 0 ? "on" : "off", arguments));
        if (!trial) return trial.failure();
        trials[served] = *trial;
        if (trial->status != 0)
            return base::fail(Status::environment, "{} ended with status {} {} the layer:\n{}",
                              arguments.program, trial->status, served != 0 ? "with" : "without",
                              trial->errors);
    }
    const Sums alone = sums_of(trials[0].errors);
    const Sums with = sums_of(trials[1].errors);
    fmt::print("MPI: {}, {} ranks; layer: {}\n", mpi, arguments.ranks, *layer);
    fmt::print("active: {}; {} of {} collective calls served\n", with.served > 0 ? "yes" : "no",
               with.served, with.calls);
    fmt::print("time in these calls, all ranks: {:.2f} ms by {} alone, {:.2f} ms with the layer\n",
               alone.ms, mpi, with.ms);
    fmt::print("time of the program: {:.2f} s by {} alone, {:.2f} s with the layer\n",
               trials[0].seconds, mpi, trials[1].seconds);
    fmt::print("{}", trials[1].errors);
    return with.served > 0 ? 0 : kAnswerIsNo;
}

}  // namespace

void add_mpi_check_command(CLI::App& app, int& exit_status) {
    const auto [command, arguments] = add_command<CheckArguments>(
        app, exit_status, "mpi-check",
        "whether the layer for MPI serves a program, and what it gains", &check_program);
    add_option(*command, "program", arguments->program,
               "an MPI program that ends by itself; it runs twice, its output is dropped")
        .required();
    add_option(*command, "-n", arguments->ranks, "ranks").within(1, 4096).shows_default();
    add_option(*command, "--mpi", arguments->mpi,
               "the MPI that it uses; not given: as it is linked")
        .one_of({"openmpi", "mpich"});
}

}  // namespace weft::tools
