// SPDX-License-Identifier: BSD-3-Clause
// command.hpp - parts that all commands of `weft` share: declaration, exit status, answer.
//
// Idea     A command is a set of options, a function that runs after they are read, and an exit
//          status, which it stores.
// Next     main.cpp adds the commands; <name>_command.cpp defines each.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::tools {

using lab::add_command;
using lab::add_example;
using lab::add_flag;
using lab::add_option;
using lab::first_word_of_program;
using lab::help_text;
using lab::Json;
using lab::json_text;
using lab::keep_unknown_words;
using lab::on_run;
using lab::Option;
using lab::print_json;
using lab::reason_of;
using lab::set_footer;
using lab::unknown_option;
using lab::unknown_words;

inline constexpr int kAnswerIsNo = 1;  ///< does not verify, a wrong result, a failed comparison
inline constexpr int kUnusableArguments = 2;  ///< the message names the argument and the rule
inline constexpr int kEnvironmentFailed = 3;  ///< no provider, no memory, a rank died

/// Returns the exit status for a failure in a command.
[[nodiscard]] constexpr int exit_status_of(Status status) {
    if (status == Status::ok) return 0;
    if (status == Status::argument || status == Status::unsupported) return kUnusableArguments;
    return kEnvironmentFailed;
}

/// Returns the exit status; prints a failure to stderr.
[[nodiscard]] int status_of(const base::Result<int>& status);

/// Prints one JSON object on a line, or a line `name value` for each member. For a member that is
/// an object, prints a line `name part value` for each of its parts.
void print_answer(const Json& object, bool json);

/// Size limit of a file of programs or operations.
inline constexpr std::size_t kTextBytesMax = std::size_t{1} << 30;
/// option: the option that names the file, for messages.
[[nodiscard]] base::Result<void> write_file(const char* option, const std::string& path,
                                            const std::string& text);

/// Adds a command. run(arguments) is called after parsing; the arguments exist as long
/// as the command.
template <class Arguments>
[[nodiscard]] std::pair<CLI::App*, Arguments*> add_command(
    CLI::App& app, int& exit_status, const char* name, const char* summary,
    base::Result<int> (*run)(const Arguments& arguments)) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App& command = add_command(app, name, summary);
    on_run(command, exit_status, [arguments, run] { return status_of(run(*arguments)); });
    return {&command, arguments.get()};
}

void add_json_flag(CLI::App& command, bool& json);

/// program: the words of the program, which the parser does not see.
void add_run_command(CLI::App& app, const std::vector<std::string>& program, int& exit_status);
void add_bench_command(CLI::App& app, int& exit_status);
void add_fit_command(CLI::App& app, int& exit_status);
void add_tune_command(CLI::App& app, int& exit_status);
void add_info_command(CLI::App& app, int& exit_status);
void add_doctor_command(CLI::App& app, int& exit_status);
void add_list_command(CLI::App& app, int& exit_status);
void add_show_command(CLI::App& app, int& exit_status);
void add_verify_command(CLI::App& app, int& exit_status);
void add_enumerate_command(CLI::App& app, int& exit_status);
void add_simulate_command(CLI::App& app, int& exit_status);
void add_goal_command(CLI::App& app, int& exit_status);
void add_cost_command(CLI::App& app, int& exit_status);
void add_formula_command(CLI::App& app, int& exit_status);
void add_explain_command(CLI::App& app, int& exit_status);
void add_mpi_check_command(CLI::App& app, int& exit_status);
void add_help_command(CLI::App& app, int& exit_status);
/// Adds examples to the help of all commands. Call it last.
void add_examples(CLI::App& app);

}  // namespace weft::tools
