// SPDX-License-Identifier: BSD-3-Clause
// mpi_jobs.hpp - jobs of MPI programs with weft's layer, for the commands that start them.
//
// Next     src/faces/mpi for the layer; tune_mpi.hpp and mpi_check_command.cpp for the commands.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::tools {

/// Words of a command line.
using Words = std::vector<std::string>;

/// A job of a program under the launcher of its MPI, openmpi or mpich.
struct MpiJob {
    std::string mpi;
    int ranks = 2;
    Words settings;  ///< variables of the ranks, as NAME=VALUE
    Words program;   ///< and its arguments
    Words launcher;  ///< words before the number of ranks; empty: default_launcher()
};

[[nodiscard]] Words default_launcher(const std::string& mpi);
/// Returns the command that starts a job.
[[nodiscard]] Words words_of(const MpiJob& job);

/// Finds the layer in the folder of the command, or where libraries are installed.
[[nodiscard]] base::Result<std::string> layer_for(const std::string& mpi);

/// Returns the output of a program; an empty string if it cannot be started.
[[nodiscard]] std::string output_of(const char* program, const std::string& argument);

}  // namespace weft::tools
