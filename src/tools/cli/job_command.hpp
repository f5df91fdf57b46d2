// SPDX-License-Identifier: BSD-3-Clause
// job_command.hpp - functions for commands that run in a job, or start jobs of weft or of MPI
// programs and read their answers.
//
// Idea     The programs peer_openmpi and peer_mpich, which perf/ builds beside this executable,
//          time MPI's collectives with the measuring loop of `weft bench`. weft does not call MPI.
// Next     src/faces/mpi for the layer (a preloaded library) that serves MPI's collectives.
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
[[nodiscard]] Words split_at_blanks(const std::string& text);

/// Returns true on rank 0 and without a launcher, from environment variables: the job need not be
/// joined.
[[nodiscard]] bool is_first_rank();
[[nodiscard]] bool is_in_job();           ///< a launcher started this process
[[nodiscard]] std::string own_program();  ///< path of this executable

/// Returns the words that start a job of this executable: weft run OPTIONS -- weft COMMAND.
[[nodiscard]] Words words_of_job(const Words& options, const Words& command);

/// Replaces this process by a job of `ranks` ranks that run the same command line.
[[noreturn]] void start_job(Rank ranks, std::optional<Rank> nodes);

/// Runs a program with the standard files of this process, and returns its exit status. Passes
/// SIGTERM, SIGINT and SIGHUP on to the program.
[[nodiscard]] int run_program(const Words& words);
/// Replaces this process by a program, which is searched in PATH. Returns after a failure, with the
/// reason in errno.
void become_program(const Words& words);

/// Quotes a word, or all words of a command, for a shell.
[[nodiscard]] std::string in_quotes(std::string_view word);
[[nodiscard]] std::string in_quotes(const Words& words);

struct ProgramOutput {
    std::string text;
    int status = 0;  ///< exit status, or 128 + signal
};
/// Runs a command of the shell, and returns its standard output.
[[nodiscard]] ProgramOutput output_of(const std::string& command);

/// Runs a program for at most `seconds` seconds, and returns the JSON object that it prints on one
/// line. The text of a failure is the first line of the program's output.
[[nodiscard]] base::Result<Json> json_of(const Words& words, double seconds);

/// A job of a program under the launcher of its MPI, openmpi or mpich.
struct MpiJob {
    std::string mpi;
    Rank ranks = 2;       ///< 0: the launcher chooses the number
    Words settings = {};  ///< variables of the ranks, as NAME=VALUE
    Words preload = {};   ///< libraries for LD_PRELOAD of the ranks; empty ones are left out
    Words program = {};   ///< the program and its arguments
    Words launcher = {};  ///< launcher and its options; empty: default_launcher()
};

/// Returns the MPI with which a program is linked, or `given` if ldd cannot tell. Refuses a static
/// program, for which no library can be preloaded, and a program of another MPI than `given`.
[[nodiscard]] std::string mpi_of(const std::string& program, const std::string& given);
[[nodiscard]] Words default_launcher(const std::string& mpi);
[[nodiscard]] Words words_of(const MpiJob& job);

/// Returns the path of the layer: beside this executable, or where libraries are installed.
[[nodiscard]] std::string layer_for(const std::string& mpi);
/// Returns the path of peer_openmpi or peer_mpich.
[[nodiscard]] std::string peer_program(const std::string& mpi);
/// Returns a library to preload that makes waiting ranks of MPICH yield shared processors. Empty if
/// it is missing, or not needed: ranks have their own processors, or the MPI is Open MPI.
[[nodiscard]] std::string yielding_library(const std::string& mpi, Rank ranks);

}  // namespace weft::tools
