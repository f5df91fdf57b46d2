// SPDX-License-Identifier: BSD-3-Clause
// help_command.cpp - `weft help`: the text of --help, also as man pages, completion and values.
//
// Next     reference.hpp for the source of all these texts.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "tools/cli/answer.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/cli/reference.hpp"

namespace weft::tools {

namespace {

struct HelpArguments {
    std::string command;
    bool man = false;
    bool completion = false;
    bool json = false;
    std::string write;
};

base::Result<void> write_page(const std::filesystem::path& path, const std::string& text) {
    std::error_code problem;
    std::filesystem::create_directories(path.parent_path(), problem);
    return write_file("--write", path.string(), text);
}

/// Writes all pages and the completion, to their places below an installation's share/.
base::Result<void> write_all(const Reference& reference, const std::filesystem::path& folder) {
    const auto pages = folder / "man/man1";
    if (auto done = write_page(pages / "weft.1", man_page(reference)); !done) return done;
    for (const CommandText& command : reference.commands) {
        auto done = write_page(pages / fmt::format("weft-{}.1", command.name), man_page(command));
        if (!done) return done;
    }
    return write_page(folder / "bash-completion/completions/weft", bash_completion(reference));
}

int print_help(const CLI::App& app, const HelpArguments& arguments) {
    fmt::print("{}", help_text(app, arguments.command));
    return 0;
}

base::Result<int> help(const CLI::App& app, const HelpArguments& arguments) {
    const Reference reference = describe(app);
    const auto command =
        std::ranges::find(reference.commands, arguments.command, &CommandText::name);
    const bool named = command != reference.commands.end();
    if (!arguments.command.empty() && !named)
        return base::fail(Status::argument, "command: there is no weft {}", arguments.command);
    if (!arguments.write.empty()) {
        if (auto written = write_all(reference, arguments.write); !written)
            return written.failure();
        return 0;
    }
    if (arguments.man) {
        fmt::print("{}", named ? man_page(*command) : man_page(reference));
    } else if (arguments.completion) {
        fmt::print("{}", bash_completion(reference));
    } else if (arguments.json) {
        print_json(to_json(reference));
    } else {
        return print_help(app, arguments);
    }
    return 0;
}

}  // namespace

void add_help_command(CLI::App& app, int& exit_status) {
    const auto arguments = std::make_shared<HelpArguments>();
    CLI::App& command = add_command(app, "help", "what a command does and which options it has");
    add_option(command, "command", arguments->command,
               "the command to describe; default: weft itself");
    add_flag(command, "--man", arguments->man, "print a man page: weft help --man run | man -l -");
    add_flag(command, "--completion", arguments->completion,
             "print the completion for bash: source <(weft help --completion)");
    add_option(command, "--write", arguments->write,
               "write all man pages and the completion below this folder");
    add_flag(command, "--json", arguments->json, "all commands as one JSON object on stdout");
    on_run(command, exit_status, [&app, arguments] { return status_of(help(app, *arguments)); });
}

}  // namespace weft::tools
