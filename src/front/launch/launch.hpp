// SPDX-License-Identifier: BSD-3-Clause
// launch.hpp - `weft run`: start N ranks of a program on this machine and end them together.
//
// Idea     The launcher hosts a PMIx server in its own process, starts the ranks as its children
//          and then watches them: the first rank that fails decides how the job ends.
// Holds    When run_job() returns, nothing of the job is left: no process, no folder.
//          A rank finds its virtual node in WEFT_NODE_ID, which is set only if virtual nodes were
//          asked for; without it all ranks are on one node, this machine.
// Next     job.cpp for the watching, pmix_server.cpp for their PMIx server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::front {

/// Exit status of a job that did not end within its time.
inline constexpr int kTimeoutStatus = 124;

enum class Binding {
    none,  ///< ranks run where the system puts them
    core,  ///< rank i runs on core i modulo the number of usable cores
};

struct EnvironmentVariable {
    std::string name;
    std::string value;
};

/// A program that runs one rank's program: its own words, before those of the rank.
struct Wrapper {
    Rank rank = 0;
    std::vector<std::string> command;
    bool takes_terminal = false;  ///< it reads what is typed, in place of the launcher
};

struct JobOptions {
    Rank ranks = 0;
    std::vector<Rank> ranks_per_node;  ///< of virtual nodes; empty: no virtual nodes
    std::optional<double> timeout_s;
    std::vector<EnvironmentVariable>
        environment;     ///< set for the ranks on top of the launcher's own
    bool label = false;  ///< prefix every line of output with "[rank] "
    Binding binding = Binding::none;
    std::optional<Wrapper> wrapper;
    std::vector<std::string> command;  ///< program and its arguments
};

/// Runs the job to its end and returns the exit status of `weft run`: 0, the status of the first
/// rank that failed (128 + signal if killed), the status given to an abort, 124 after the timeout,
/// 128 + signal if the launcher itself got a signal. A failure means that the job never ran.
[[nodiscard]] base::Result<int> run_job(const JobOptions& options);

}  // namespace weft::front
