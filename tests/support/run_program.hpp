// SPDX-License-Identifier: BSD-3-Clause
// run_program.hpp - runs a program for a test: its output, its status, and what it left over.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::test {

struct Outcome {
    int status =
        -1;  ///< exit status; 128 + signal if killed; -1 if it had to be killed by the test
    std::string output;
    std::string errors;
    double seconds = 0;
};

/// How it must have ended, and what must be among its errors.
inline void expect_end(const Outcome& outcome, int status, const std::string& error) {
    EXPECT_EQ(outcome.status, status) << outcome.errors;
    EXPECT_NE(outcome.errors.find(error), std::string::npos) << outcome.errors;
}

/// A program that runs. Its temporary folder is private, and every process that comes of it carries
/// a mark in its environment, so that what is left over can be found. It has the environment of
/// the test, but for the variables that are meant for tests (WEFT_TESTS_*); `settings` come first.
class RunningProgram {
  public:
    static constexpr double kDeadline_s = 20;

    RunningProgram(std::vector<std::string> command, std::vector<std::string> settings = {},
                   double deadline_s = kDeadline_s);
    ~RunningProgram();
    RunningProgram(const RunningProgram&) = delete;
    RunningProgram& operator=(const RunningProgram&) = delete;

    /// Waits until the text has been printed. False at the deadline or if the program ends before.
    [[nodiscard]] bool wait_for_output(const std::string& text);
    void send(int signal) const;
    /// Waits for the end, or kills it at the deadline.
    [[nodiscard]] Outcome wait();

    /// Processes that carry the mark.
    [[nodiscard]] std::vector<pid_t> processes() const;
    /// What is in the temporary folder.
    [[nodiscard]] std::vector<std::string> files() const;
    /// Whether nothing is left, waiting for it up to the deadline.
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
