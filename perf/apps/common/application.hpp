// SPDX-License-Identifier: BSD-3-Clause
// application.hpp - what the applications share: joining a job, refusing arguments, printing the
// result.
//
// Idea     An application is a command line and one function that works on a runtime. run() joins
//          the job first and reads the arguments then: all ranks have the same arguments, so all
//          refuse them, rank 0 says why, and the job ends in good order.
// Why      A problem of one rank alone (a file that is missing on its machine) must not leave the
//          others in a collective that never completes: all_or_none() makes it a failure of all
//          ranks.
// Holds    Exit status: 0 done and right, 1 the check found a wrong result, 2 unusable arguments or
//          input, 3 the environment failed. Results go to stdout, everything else to stderr.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <weft/weft.hpp>

#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"

namespace apps {

using weft::lab::CommandLine;

/// Arguments or input that cannot be used: thrown by all ranks.
class Unusable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// What a check against a serial run has found; the same on all ranks.
enum class Check { none, right, wrong };

/// Joins the job, reads the arguments, works, leaves; returns the exit status of the program. work
/// runs on every rank.
int run(CommandLine& line, int argc, char** argv, const std::function<Check(weft::Runtime&)>& work);

/// Collective. If any rank has a problem (a text that is not empty), all throw Unusable with the
/// text of the first one that has.
void all_or_none(weft::Team team, const std::string& problem);

/// Collective: what rank 0 has found becomes the result of all ranks.
[[nodiscard]] Check shared(weft::Team team, Check of_rank_0);

/// Seconds since it was made.
class Stopwatch {
  public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

using Report = weft::lab::Json;

/// The lines that every report begins with.
[[nodiscard]] Report start_report(const std::string& application, weft::Runtime& runtime);
[[nodiscard]] std::string name_of(Check check);
/// On rank 0: one JSON object, or a line for each entry.
void print_report(weft::Team team, const Report& report, bool json);

}  // namespace apps
