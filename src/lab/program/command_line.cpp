// SPDX-License-Identifier: BSD-3-Clause
#include "lab/program/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace weft::lab {

Option& Option::required() {
    option_->required();
    return *this;
}
Option& Option::shows_default() {
    option_->capture_default_str();
    return *this;
}
Option& Option::one_of(std::vector<std::string> words) {
    option_->check(CLI::IsMember(std::move(words)));
    return *this;
}
Option& Option::within(int least, int most) {
    option_->check(CLI::Range(least, most));
    return *this;
}
Option& Option::within(double least, double most) {
    option_->check(CLI::Range(least, most));
    return *this;
}
Option& Option::existing_file() {
    option_->check(CLI::ExistingFile);
    return *this;
}
Option& Option::one_value_each() {
    option_->allow_extra_args(false);
    return *this;
}
Option& Option::comma_separated() {
    option_->delimiter(',');
    return *this;
}
Option& Option::excludes(CLI::App& command, std::initializer_list<const char*> names) {
    for (const char* name : names) option_->excludes(command.get_option(name));
    return *this;
}

template <class T>
Option add_option(CLI::App& command, const char* name, T& value, const char* help) {
    return Option(command.add_option(name, value, help));
}
template Option add_option(CLI::App&, const char*, std::string&, const char*);
template Option add_option(CLI::App&, const char*, std::vector<std::string>&, const char*);
template Option add_option(CLI::App&, const char*, std::vector<std::int64_t>&, const char*);
template Option add_option(CLI::App&, const char*, std::pair<std::int32_t, std::int32_t>&,
                           const char*);
template Option add_option(CLI::App&, const char*, std::int32_t&, const char*);
template Option add_option(CLI::App&, const char*, std::int64_t&, const char*);
template Option add_option(CLI::App&, const char*, std::uint32_t&, const char*);
template Option add_option(CLI::App&, const char*, std::uint64_t&, const char*);
template Option add_option(CLI::App&, const char*, double&, const char*);
template Option add_option(CLI::App&, const char*, std::optional<std::string>&, const char*);
template Option add_option(CLI::App&, const char*, std::optional<std::int32_t>&, const char*);
template Option add_option(CLI::App&, const char*, std::optional<std::uint64_t>&, const char*);
template Option add_option(CLI::App&, const char*, std::optional<double>&, const char*);

void add_flag(CLI::App& command, const char* name, bool& value, const char* help) {
    command.add_flag(name, value, help);
}

CLI::App& add_command(CLI::App& app, const char* name, const char* summary) {
    return *app.add_subcommand(name, summary);
}

void on_run(CLI::App& command, int& exit_status, std::function<int()> run) {
    command.callback([run = std::move(run), &exit_status] { exit_status = run(); });
}

void set_footer(CLI::App& command, const char* text) {
    command.footer(text);
}

void keep_unknown_words(CLI::App& command) {
    command.allow_extras();
}

std::vector<std::string> unknown_words(const CLI::App& command) {
    return command.remaining();
}

std::string help_text(const CLI::App& app, const std::string& command) {
    return command.empty() ? app.help() : app.get_subcommand(command)->help("weft");
}

CommandLine::CommandLine(std::string name, std::string summary)
    : name_(std::move(name)), app_(std::make_unique<CLI::App>(std::move(summary), name_)) {}

CommandLine::~CommandLine() = default;

void CommandLine::flag(const char* name, bool& value, const char* help) {
    add_flag(*app_, name, value, help);
}

std::optional<int> CommandLine::read(int argc, char** argv, bool speaks) {
    constexpr int kUnusable = 2;
    try {
        app_->parse(argc, argv);
    } catch (const CLI::Success& answer) {  // --help
        if (speaks) app_->exit(answer);
        return 0;
    } catch (const CLI::ParseError& refusal) {
        if (speaks) fmt::print(stderr, "{0}: {1}\n{0}: try --help\n", name_, refusal.what());
        return kUnusable;
    }
    return std::nullopt;
}

}  // namespace weft::lab
