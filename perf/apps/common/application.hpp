// SPDX-License-Identifier: BSD-3-Clause
// application.hpp - common parts of the applications: start, errors, and results.
//
// Idea     An application has options and a function that works on a job and fills its report.
//          run() joins the job first, then reads the arguments. All ranks have equal arguments, so
//          all refuse invalid arguments, rank 0 prints the reason, and the job ends normally.
// Why      A problem of one rank (such as a missing file) must not leave the other ranks in a
//          collective that never completes. raise_on_all() makes it a failure of all ranks.
// Holds    Exit status: 0 done and right, 1 the check found a wrong result, 2 invalid arguments or
//          input, 3 the environment failed. Results are on stdout, messages on stderr.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <weft/weft.hpp>

#include "tools/lab/program/command_line.hpp"

namespace apps {

using weft::lab::CommandLine;

/// Invalid arguments or input; thrown by all ranks.
class InvalidInput : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Result of a check against a serial run; none: --check was not given.
enum class Check { none, right, wrong };

using Report = nlohmann::ordered_json;

/// A run of an application, on one rank.
struct Job {
    weft::Runtime& runtime;
    weft::Team world;
    bool check = false;   ///< --check: compare with a serial run
    bool failed = false;  ///< set by the application: the result is wrong without a comparison
    Report report;        ///< printed by rank 0
};

struct Application {
    const char* name;
    const char* summary;
    std::function<void(CommandLine&)> declare;  ///< adds the options besides --check and --json
    std::function<Check(Job&)> work;            ///< rank 0's result decides the exit status
    const char* check_help = "Compare with a run in one process";
};
/// Runs the application on every rank. Returns the exit status of the program.
int run(const Application& application, int argc, char** argv);

/// Collective. If any rank has a problem (a text that is not empty), all ranks throw InvalidInput
/// with the text of the first such rank.
void raise_on_all(weft::Team team, const std::string& problem);

/// Collective: returns rank 0's result on all ranks.
[[nodiscard]] Check broadcast_check(weft::Team team, Check of_rank_0);

/// Measures the seconds since its construction.
class Stopwatch {
  public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace apps
