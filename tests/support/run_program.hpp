// SPDX-License-Identifier: BSD-3-Clause
// run_program.hpp - runs a program for a test; collects its output, exit status and leftovers.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::test {

struct Outcome {
    int status = -1;  ///< exit status; 128 + signal if killed; -1 if the test killed it
    std::string output;
    std::string errors;
    double seconds = 0;
};

/// Expects this exit status, and `error` in the error output.
inline void expect_end(const Outcome& outcome, int status, const std::string& error) {
    EXPECT_EQ(outcome.status, status) << outcome.errors;
    EXPECT_NE(outcome.errors.find(error), std::string::npos) << outcome.errors;
}

/// A running program. It has its own temporary folder, and a mark in the environment that all of
/// its descendants inherit, so that leftovers can be found. Its environment is `settings`, then the
/// test's environment without the variables WEFT_TESTS_*.
class RunningProgram {
  public:
    static constexpr double kDeadline_s = 20;

    RunningProgram(std::vector<std::string> command, std::vector<std::string> settings = {},
                   double deadline_s = kDeadline_s);
    ~RunningProgram();
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;

    /// Waits until the text has been printed. Returns false at the deadline or if the
    /// program ends before.
    [[nodiscard]] bool wait_for_output(const std::string& text);
    void send(int signal) const;
    /// Waits for the end, or kills the program at the deadline.
    [[nodiscard]] Outcome wait();

    /// Returns the processes that carry the mark.
    [[nodiscard]] std::vector<pid_t> processes() const;
    /// Returns the names in the temporary folder.
    [[nodiscard]] std::vector<std::string> files() const;
    /// Returns true if no process and no file is left, after waiting up to the deadline.
    [[nodiscard]] bool nothing_left() const;

  private:
    bool read_some(double seconds_max);

    std::string folder_;
    std::string mark_;
    double deadline_s_;
    pid_t pid_ = -1;
    int output_ = -1;
    int errors_ = -1;
    double started_ = 0;
    Outcome outcome_;
};

}  // namespace weft::test
