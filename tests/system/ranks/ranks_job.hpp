// SPDX-License-Identifier: BSD-3-Clause
// ranks_job.hpp - runs a program as a job for a test.
#pragma once

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/full_mode.hpp"
#include "tests/support/run_program.hpp"

namespace weft::test {

using Words = std::vector<std::string>;

/// Returns true if the tests must run in their long form.
inline bool long_forms() {
    return full_mode();
}

/// Returns the path of a built program; `name` is its name without `weft_`.
inline std::string rank_program(const std::string& name) {
    return RANK_PROGRAMS "/weft_" + name;
}

/// Returns the seconds after which a job is considered hung. Busy machines are slow, and emulated
/// machines are slower.
inline double launch_deadline_s() {
#if defined(WEFT_TESTS_EMULATED)
    constexpr double kSlowness = 10;
#else
    constexpr double kSlowness = 1;
#endif
    return (long_forms() ? 600 : 100) * kSlowness;
}

/// Runs a command to its end and checks that no process of it is left.
inline Outcome run_command(const Words& command, const Words& settings = {}) {
    RunningProgram running(command, settings, launch_deadline_s());
    const Outcome outcome = running.wait();
    EXPECT_NE(outcome.status, -1) << "hung and was killed";
    EXPECT_TRUE(running.nothing_left());
    return outcome;
}

/// Returns the command: weft run OPTIONS -- PROGRAM
inline Words weft_run(const Words& options, const Words& program) {
    Words command{RANK_PROGRAMS "/weft", "run"};
    command.insert(command.end(), options.begin(), options.end());
    command.emplace_back("--");
    command.insert(command.end(), program.begin(), program.end());
    return command;
}
inline Outcome run_ranks(const Words& options, const Words& program, const Words& settings = {}) {
    return run_command(weft_run(options, program), settings);
}

/// Runs a job by mpirun. Returns nullopt if mpirun is not installed.
inline std::optional<Outcome> run_under_mpirun(int ranks, const Words& program,
                                               const Words& settings = {}) {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0) return std::nullopt;
    Words command{"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", std::to_string(ranks)};
    command.insert(command.end(), program.begin(), program.end());
    return run_command(command, settings);
}

/// A job to run.
struct Launch {
    std::string name;
    int ranks = 1;
    int nodes = 1;
    Words options;        ///< of `weft run`; empty: mpirun starts the job
    Words settings = {};  ///< environment variables
};
inline Launch launch_of(int ranks, int nodes) {
    return {.name = fmt::format("n{}_nodes{}", ranks, nodes),
            .ranks = ranks,
            .nodes = nodes,
            .options = {"-n", std::to_string(ranks), "--nodes", std::to_string(nodes)}};
}
inline Launch launch_with_layout(const std::vector<int>& ranks_of_nodes) {
    return {.name = fmt::format("layout_{}", fmt::join(ranks_of_nodes, "_")),
            .ranks = std::accumulate(ranks_of_nodes.begin(), ranks_of_nodes.end(), 0),
            .nodes = static_cast<int>(ranks_of_nodes.size()),
            .options = {"--layout", fmt::format("{}", fmt::join(ranks_of_nodes, ","))}};
}
inline std::optional<Outcome> run_launch(const Launch& launch, const Words& program) {
    if (launch.options.empty()) return run_under_mpirun(launch.ranks, program, launch.settings);
    return run_ranks(launch.options, program, launch.settings);
}

/// Returns a text with underscores for characters that names of tests cannot have.
inline std::string as_name(const std::string& text) {
    std::string name;
    for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return name;
}

}  // namespace weft::test
