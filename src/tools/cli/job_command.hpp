// SPDX-License-Identifier: BSD-3-Clause
// job_command.hpp - functions for commands that run in a job, or start jobs and read their answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tools/cli/command.hpp"
#include "weft/types.hpp"

namespace weft::tools {

/// Returns true on rank 0 by the launcher's variables, or without a launcher. Works before the
/// job is joined.
[[nodiscard]] bool is_first_rank();

/// Returns true if a launcher has started this process.
[[nodiscard]] bool is_in_job();

/// Replaces this process by `weft run`, which starts `ranks` ranks of the same command. Returns
/// only on failure.
[[nodiscard]] base::Failure start_job(Rank ranks, std::optional<Rank> nodes);

/// Prints the reason to stderr, outside of a job, and returns the exit status. Failures that all
/// ranks share (arguments, environment) are printed by rank 0 only.
[[nodiscard]] int refuse(const char* command, const base::Failure& failure);

/// Returns the path of this process's executable.
[[nodiscard]] base::Result<std::string> own_program();

/// Quotes a word for a shell.
[[nodiscard]] std::string in_quotes(std::string_view word);

struct ProgramOutput {
    std::string text;
    int status = 0;  ///< exit status, or 128 + signal
};
/// Runs a command of the shell, and returns its standard output.
[[nodiscard]] base::Result<ProgramOutput> output_of(const std::string& command);

/// Runs a program for at most `seconds` seconds, and returns the JSON object that it prints on a
/// line. On failure the text is the first line of its output.
[[nodiscard]] base::Result<Json> json_of(const std::vector<std::string>& words, double seconds);

}  // namespace weft::tools
