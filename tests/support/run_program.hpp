// SPDX-License-Identifier: BSD-3-Clause
// run_program.hpp - runs a program for a test, collects its output and exit status, and finds
// processes and files that it leaves behind.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::test {

struct Outcome {
    int status = -1;  ///< exit status, or 128 + signal; -1: not started, or not ended yet
    std::string output;
    std::string errors;  ///< error output
    double seconds = 0;  ///< run time, if the program has ended
};

/// Fails the test unless the program ended with this status and `error` is in its error output.
inline void expect_end(const Outcome& outcome, int status, const std::string& error) {
    EXPECT_EQ(outcome.status, status) << outcome.errors;
    EXPECT_NE(outcome.errors.find(error), std::string::npos) << outcome.errors;
}

/// A running program with its own temporary folder (TMPDIR). Its environment is `settings`, a
/// variable that marks the program and all of its descendants, and the test's environment without
/// the variables WEFT_TESTS_*. The destructor kills all marked processes.
class RunningProgram {
  public:
    static constexpr double kDeadline_s = 20;  ///< default limit of each wait, in seconds

    RunningProgram(std::vector<std::string> command, std::vector<std::string> settings = {},
                   double deadline_s = kDeadline_s);
    ~RunningProgram();
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;

    /// Waits until the program's output contains `text`. Returns false at the deadline, or if the
    /// program closes its outputs earlier.
    [[nodiscard]] bool wait_for_output(const std::string& text);
    /// Sends a signal to the program, not to its descendants.
    void send(int signal) const;
    /// Waits until the program ends. The outcome has status -1 if the deadline passes earlier.
    [[nodiscard]] Outcome wait();

    /// Returns all marked processes.
    [[nodiscard]] std::vector<pid_t> processes() const;
    /// Returns the paths of all files in the temporary folder.
    [[nodiscard]] std::vector<std::string> files() const;
    /// Waits until no marked process and no file is left. Returns false at the deadline.
    [[nodiscard]] bool nothing_left() const;

  private:
    /// Waits up to `seconds_max` for output and reads it. Returns false if both pipes are closed.
    bool read_some(double seconds_max);

    std::string folder_;
    std::string mark_;   ///< name of the variable that marks the processes
    double deadline_s_;  ///< limit of each wait, in seconds
    pid_t pid_ = -1;
    int output_ = -1;  ///< pipes from the program; -1: closed
    int errors_ = -1;
    double started_ = 0;  ///< seconds of the steady clock
    Outcome outcome_;
};

}  // namespace weft::test
