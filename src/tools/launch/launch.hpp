// SPDX-License-Identifier: BSD-3-Clause
// launch.hpp - `weft run`: starts N ranks of a program on this machine and ends them together.
//
// Idea     The launcher hosts a PMIx server in its own process, starts the ranks as its children
//          and watches them. The first rank that fails decides the end of the job.
// Holds    When run_job() returns, no process and no folder of the job is left. A rank finds its
//          virtual node in WEFT_NODE_ID, which is set only for jobs with virtual nodes; otherwise
//          all ranks are on one node, this machine.
// Next     job.cpp for the watching, pmix_server.cpp for the PMIx server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/launch/failure.hpp"

namespace weft::tools {

inline constexpr int kTimeoutStatus = 124;

struct EnvironmentVariable {
    std::string name;
    std::string value;
};

/// A program that runs a rank's program, such as a debugger; its words precede those of the rank.
struct Wrapper {
    Rank rank = 0;
    std::vector<std::string> command;
    bool takes_terminal = false;  ///< it reads the terminal instead of the launcher
};

struct JobOptions {
    Rank ranks = 0;
    std::vector<Rank> ranks_per_node;  ///< of virtual nodes; empty: no virtual nodes
    std::optional<double> timeout_s;
    std::vector<EnvironmentVariable> environment;  ///< overrides the launcher's own variables
    bool label = false;                            ///< prefix every line of output with "[rank] "
    bool bind_to_cores = false;  ///< rank i runs on core i modulo the number of usable cores
    std::optional<Wrapper> wrapper;
    std::vector<std::string> command;  ///< program and its arguments
};

/// Runs the job and returns the exit status of `weft run`: 0, the status of the first failed rank
/// (128 + signal if killed), the status of an abort, 124 after the timeout, or 128 + the launcher's
/// signal. An Error means that the job never ran.
[[nodiscard]] int run_job(const JobOptions& options);

}  // namespace weft::tools
