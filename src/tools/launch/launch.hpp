// SPDX-License-Identifier: BSD-3-Clause
// launch.hpp - `weft run`: starts N ranks of a program on this machine and ends them together.
//
// Idea     The launcher hosts a PMIx server in its own process, starts the ranks as its children
//          and watches them. The first rank that fails ends the job and decides its status, unless
//          the job keeps going.
// Holds    When run_job() returns, no process and no folder of the job is left, except processes
//          that the launcher cannot kill and names on stderr. With virtual nodes, WEFT_NODE_ID of
//          a rank is the index of its node. Without it all ranks are on one node, this machine.
// Next     job.cpp for the event loop, pmix_server.cpp for the PMIx server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/launch/failure.hpp"

namespace weft::tools {

inline constexpr int kTimeoutStatus = 124;  ///< as timeout(1)

/// A program that runs a rank's program, such as a debugger.
struct Wrapper {
    Rank rank = 0;
    std::vector<std::string> command;  ///< followed by the rank's program and its arguments
    bool takes_terminal = false;       ///< the wrapper, not the launcher, reads the terminal
};

struct JobOptions {
    Rank ranks = 0;
    std::vector<Rank> ranks_per_node;      ///< empty: no virtual nodes
    std::optional<double> timeout_s;       ///< empty: no limit
    std::vector<std::string> environment;  ///< "NAME=value"; override the launcher's own variables
    bool label = false;                    ///< prefix every line of output with "[rank] "
    bool keep_going = false;     ///< the death of a rank that has joined does not end the job
    bool bind_to_cores = false;  ///< rank i runs on core i modulo the number of usable cores
    std::optional<Wrapper> wrapper;
    std::vector<std::string> command;  ///< program and its arguments
};

struct JobNames {
    std::string folder;    ///< for the files of the job
    std::string job_name;  ///< its PMIx namespace, in the environment of all its processes
};

/// Runs the job and returns the exit status of `weft run`: 0, the status of the first failed rank
/// (128 + signal if killed, 3 if it exited with 0 but did not join or leave), the status passed to
/// PMIx_Abort() (low 8 bits), kTimeoutStatus, or 128 + a signal to the launcher. keep_going:
/// the number of joined ranks that died, at most 100. Throws an Error if the job cannot be started.
[[nodiscard]] int run_job(const JobOptions& options);

}  // namespace weft::tools
