// SPDX-License-Identifier: BSD-3-Clause
// job_command.hpp - functions for commands that run in a job, or start jobs of weft or of MPI
// programs and read their answers.
//
// Idea     The programs peer_openmpi and peer_mpich, which perf/ builds beside this executable,
//          call MPI's collectives with the measuring loop of `weft bench`. Programs that call MPI
//          are not part of weft.
// Next     src/faces/mpi for the layer that serves these calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tools/cli/command.hpp"
#include "weft/types.hpp"

namespace weft::tools {

using Words = std::vector<std::string>;
void append(Words& words, const Words& more);

/// Returns true on rank 0 by the launcher's variables, or without a launcher. Works before the
/// job is joined.
[[nodiscard]] bool is_first_rank();

[[nodiscard]] bool is_in_job();

[[nodiscard]] std::string own_program();

/// Returns the words that start a job of this executable: weft run OPTIONS -- weft COMMAND.
[[nodiscard]] Words words_of_job(const Words& options, const Words& command);

/// Replaces this process by a job of `ranks` ranks of the same command.
[[noreturn]] void start_job(Rank ranks, std::optional<Rank> nodes);

/// Runs a program with the standard files of this process, and returns its exit status.
[[nodiscard]] int run_program(const Words& words);

/// Quotes a word, or all words of a command, for a shell.
[[nodiscard]] std::string in_quotes(std::string_view word);
[[nodiscard]] std::string in_quotes(const Words& words);

struct ProgramOutput {
    std::string text;
    int status = 0;  ///< exit status, or 128 + signal
};
/// Runs a command of the shell, and returns its standard output.
[[nodiscard]] ProgramOutput output_of(const std::string& command);

/// Runs a program for at most `seconds` seconds, and returns the JSON object that it prints on a
/// line. On failure the text is the first line of its output.
[[nodiscard]] base::Result<Json> json_of(const Words& words, double seconds);

/// A job of a program under the launcher of its MPI, openmpi or mpich.
struct MpiJob {
    std::string mpi;
    Rank ranks = 2;
    Words settings = {};  ///< variables of the ranks, as NAME=VALUE
    Words program = {};   ///< and its arguments
    Words launcher = {};  ///< words before the number of ranks; empty: default_launcher()
};

[[nodiscard]] Words default_launcher(const std::string& mpi);
[[nodiscard]] Words words_of(const MpiJob& job);

/// Finds the layer in the folder of the command, or where libraries are installed.
[[nodiscard]] std::string layer_for(const std::string& mpi);
/// Finds the program that calls this MPI.
[[nodiscard]] std::string peer_program(const std::string& mpi);
/// Returns a library to preload, by which waits yield the processor where ranks share processors.
/// Empty if it is missing or the MPI yields on its own, as Open MPI does.
[[nodiscard]] std::string yielding_library(const std::string& mpi, Rank ranks);

}  // namespace weft::tools
