// SPDX-License-Identifier: BSD-3-Clause
// command.hpp - parts that all commands of `weft` share: declaration, exit status, output.
//
// Idea     A command is a set of options and a function that runs after they are read and returns
//          an exit status. A failure is thrown as an Error; run_command() prints it.
// Next     main.cpp adds the commands; <name>_command.cpp defines each.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"
#include "tools/launch/failure.hpp"

namespace weft::tools {

using lab::add_command, lab::add_flag, lab::add_option, lab::Option;
using lab::first_word_of_program, lab::keep_unknown_words, lab::on_run;
using lab::Json, lab::json_text, lab::print_json;
using lab::reason_of, lab::set_footer, lab::unknown_option, lab::unknown_words;

inline constexpr int kAnswerIsNo = 1;  ///< invalid programs, a wrong result, no fitting algorithm
inline constexpr int kUnusableArguments = 2;  ///< the message names the argument and the rule
inline constexpr int kEnvironmentFailed = 3;  ///< no provider, no memory, a rank died

[[nodiscard]] constexpr int exit_status_of(Status status) {
    if (status == Status::ok) return 0;
    if (status == Status::argument || status == Status::unsupported) return kUnusableArguments;
    return kEnvironmentFailed;
}

/// Calls run() and returns its result. After an Error, prints "speaker: text" to stderr and returns
/// the exit status. In a job, only rank 0 prints failures with status kUnusableArguments.
[[nodiscard]] int run_command(const char* speaker, const std::function<int()>& run);

/// json: prints the object on one line. Otherwise prints a line `name value` for each member, and
/// `name part value` for each part of a member that is an object.
void print_answer(const Json& object, bool json);

/// Size limit in bytes of --program and GOAL files.
inline constexpr std::size_t kInputBytesMax = std::size_t{1} << 30;
/// option: the option that names the file, for messages.
void write_file(const char* option, const std::string& path, const std::string& text);
/// Replaces a file by renaming a new one, so that no reader sees a part of it.
void replace_file(const char* option, const std::string& path, const std::string& text);

/// Adds a command. run(arguments) is called after parsing and returns the exit status. The
/// command owns the arguments. speaker: start of its messages.
template <class Arguments>
[[nodiscard]] std::pair<CLI::App*, Arguments*> add_command(
    CLI::App& app, const char* name, const char* summary,
    std::function<int(const Arguments& arguments)> run, const char* speaker = "weft") {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App& command = add_command(app, name, summary);
    on_run(command, [arguments, run = std::move(run), speaker] {
        return run_command(speaker, [&] { return run(*arguments); });
    });
    return {&command, arguments.get()};
}

void add_json_flag(CLI::App& command, bool& json);

/// Commit id of the sources, with -dirty if they were changed; "unknown" without one. Defined in
/// commit.cpp, which cmake/WriteCommit.cmake writes.
extern const char* const kCommit;
extern const char* const kBuildCompiler;  ///< "GNU 12.2.0"
extern const char* const kBuildType;      ///< CMake's build type

/// Returns "weft 0.1.0 (commit 1a2b3c4d5e, GNU 12.2.0, Release)".
[[nodiscard]] std::string version_line();

[[nodiscard]] int usable_processors();     ///< number that this process may use, at least 1
[[nodiscard]] std::string machine_name();  ///< host and online processors: "host1, 8 processors"

/// program: the program and its arguments; main() fills it before the command runs.
void add_run_command(CLI::App& app, const std::vector<std::string>& program);
void add_mpi_run_command(CLI::App& app, const std::vector<std::string>& program);
void add_shmem_cc_command(CLI::App& app, const std::vector<std::string>& compiler_args);
void add_bench_command(CLI::App& app);
void add_fit_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_list_command(CLI::App& app);
void add_show_command(CLI::App& app);
void add_verify_command(CLI::App& app);
void add_enumerate_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_goal_command(CLI::App& app);
void add_cost_command(CLI::App& app);
void add_formula_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_mpi_check_command(CLI::App& app);
void add_help_command(CLI::App& app);

}  // namespace weft::tools
