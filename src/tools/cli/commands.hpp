// SPDX-License-Identifier: BSD-3-Clause
// commands.hpp - a function for each command that adds it to the application. The command stores
// its exit status.
//
// Next     main.cpp calls them; <name>_command.cpp defines each.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.hpp"

namespace weft::tools {

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
