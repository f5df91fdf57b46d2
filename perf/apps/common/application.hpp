// SPDX-License-Identifier: BSD-3-Clause
// application.hpp - common parts of the applications: start, errors, and results.
//
// Idea     An application is a command line and a function that works on a runtime. run() joins the
//          job first and reads the arguments then. All ranks have the same arguments, so all refuse
//          invalid ones, rank 0 prints the reason, and the job ends normally.
// Why      A problem of one rank (such as a missing file) must not leave the other ranks in a
//          collective that never completes. all_or_none() makes it a failure of all ranks.
// Holds    Exit status: 0 done and right, 1 the check found a wrong result, 2 invalid arguments or
//          input, 3 the environment failed. Results are on stdout, all else is on stderr.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <weft/weft.hpp>

#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"

namespace apps {

using weft::lab::CommandLine;

/// Invalid arguments or input; thrown by all ranks.
class Unusable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Result of a check against a serial run; equal on all ranks.
enum class Check { none, right, wrong };

/// Joins the job, reads the arguments, calls `work` on every rank, and leaves. Returns the exit
/// status of the program.
int run(CommandLine& line, int argc, char** argv, const std::function<Check(weft::Runtime&)>& work);

/// Collective. If any rank has a problem (a text that is not empty), all ranks throw Unusable with
/// the text of the first such rank.
void all_or_none(weft::Team team, const std::string& problem);

/// Collective: returns rank 0's result on all ranks.
[[nodiscard]] Check shared(weft::Team team, Check of_rank_0);

/// Measures the seconds since its construction.
class Stopwatch {
  public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

using Report = weft::lab::Json;

/// Returns the first lines of every report.
[[nodiscard]] Report start_report(const std::string& application, weft::Runtime& runtime);
[[nodiscard]] std::string name_of(Check check);
/// Prints on rank 0: one JSON object, or a line for each entry.
void print_report(weft::Team team, const Report& report, bool json);

}  // namespace apps
