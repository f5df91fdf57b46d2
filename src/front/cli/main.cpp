// SPDX-License-Identifier: BSD-3-Clause
// main.cpp - the `weft` executable: one subcommand per question.
//
// Idea     Each command lives in its own <name>_command.cpp, which adds itself to the application
//          and stores its exit status; main only lists them and maps the parser's outcomes to
//          statuses.
// Holds    0 done and right, 1 the answer is no, 2 unusable arguments, 3 the environment failed.
//          Results go to stdout, everything else to stderr.
// Next     the add_... functions, one header each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "front/cli/commands.hpp"
#include "front/cli/exit_status.hpp"

namespace {

using weft::front::kEnvironmentFailed;
using weft::front::kUnusableArguments;

/// Prints what the parser has to say: help and version are answers, anything else is a refusal.
int report_parse_outcome(const CLI::App& app, const CLI::ParseError& outcome) {
    if (outcome.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
        return app.exit(outcome);
    }
    fmt::print(stderr, "weft: {}\nweft: try --help\n", outcome.what());
    return kUnusableArguments;
}

std::string names_of_commands(const CLI::App& app) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names += fmt::format("{}{}", names.empty() ? "" : ", ", command->get_name());
    return names;
}

struct CommandLine {
    std::vector<std::string> arguments;  ///< last one first, as the parser wants them
    std::vector<std::string> program;    ///< what stands after the first --
};

/// The words after -- belong to another program and are taken as they are: the parser would look
/// for options and lists in them.
CommandLine split_at_program(int argc, char** argv) {
    char** const end = argv + argc;
    char** const mark = std::find(argv + 1, end, std::string_view("--"));
    CommandLine line;
    line.arguments.assign(std::reverse_iterator(mark), std::reverse_iterator(argv + 1));
    if (mark != end) line.program.assign(mark + 1, end);
    return line;
}

}  // namespace

int main(int argc, char** argv) {
    int exit_status = 0;
    CLI::App app("weft: one-sided collectives on libfabric", "weft");
    app.set_help_flag("-h,--help", "print this help and exit");
    app.set_version_flag("--version", "weft " WEFT_VERSION, "print the version and exit");
    // Not more than one; that there is one is checked below, so that an unknown word is named.
    app.require_subcommand(0, 1);
    auto [arguments, program] = split_at_program(argc, argv);
    weft::front::add_run_command(app, program, exit_status);
    weft::front::add_bench_command(app, exit_status);
    weft::front::add_fit_command(app, exit_status);
    weft::front::add_info_command(app, exit_status);
    weft::front::add_list_command(app, exit_status);
    weft::front::add_show_command(app, exit_status);
    weft::front::add_verify_command(app, exit_status);
    weft::front::add_enumerate_command(app, exit_status);
    weft::front::add_simulate_command(app, exit_status);
    weft::front::add_goal_command(app, exit_status);
    weft::front::add_cost_command(app, exit_status);
    weft::front::add_formula_command(app, exit_status);
    weft::front::add_explain_command(app, exit_status);
    weft::front::add_mpi_check_command(app, exit_status);
    weft::front::add_help_command(app, exit_status);
    // Called before any command runs.
    app.parse_complete_callback([&app, &program = program] {
        if (!program.empty() && !app.got_subcommand("run")) throw CLI::ExtrasError(program);
    });
    try {
        app.parse(arguments);
        if (app.get_subcommands().empty()) {
            throw CLI::RequiredError(
                fmt::format("a command ({}) is missing", names_of_commands(app)),
                CLI::ExitCodes::RequiredError);
        }
    } catch (const CLI::ParseError& outcome) {
        return report_parse_outcome(app, outcome);
    } catch (const std::exception& error) {
        fmt::print(stderr, "weft: {}\n", error.what());
        return kEnvironmentFailed;
    }
    return exit_status;
}
