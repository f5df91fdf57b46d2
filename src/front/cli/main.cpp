// SPDX-License-Identifier: BSD-3-Clause
// main.cpp - the `weft` executable: one subcommand per question.
//
// Idea     Each command lives in its own <name>_command.cpp, which adds itself to the application
// and
//          stores its exit status; main only lists them and maps what the parser says to statuses.
// Holds    0 done and right, 1 the answer is no, 2 unusable arguments, 3 the environment failed.
//          Results go to stdout, everything else to stderr.
// Next     the add_... functions, one header each.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

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

}  // namespace

int main(int argc, char** argv) {
    int exit_status = 0;
    CLI::App app("weft: one-sided collectives on libfabric", "weft");
    app.set_version_flag("--version", "weft " WEFT_VERSION);
    // Not more than one; that there is one is checked below, so that an unknown word is named.
    app.require_subcommand(0, 1);
    try {
        app.parse(argc, argv);
        if (app.get_subcommands().empty()) {
            throw CLI::RequiredError("a command (run, info, list, ...) is missing",
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
