// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/program/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "base/suggestion.hpp"

namespace weft::lab {

namespace {

/// Like CLI::IsMember, but the message suggests the closest word.
struct OneOf : CLI::Validator {
    explicit OneOf(std::vector<std::string> words)
        : CLI::Validator(fmt::format("{{{}}}", fmt::join(words, ","))) {
        func_ = [words = std::move(words)](std::string& given) -> std::string {
            if (std::ranges::find(words, given) != words.end()) return {};
            return fmt::format("unknown '{}', expected one of {}{}", given, fmt::join(words, ", "),
                               base::did_you_mean(given, words));
        };
    }
};

/// Returns true if the help shows the value as default: false for an empty text, list or optional.
template <class T>
bool has_default(const T& value) {
    if constexpr (requires { value.empty(); })
        return !value.empty();
    else
        return !requires {
            value.has_value();
        };
}

/// Returns a message about the first unknown option, word or command; else "".
std::string unexpected_word(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    const std::vector<std::string> words = app.remaining(true);
    if (words.empty()) return {};
    const auto dashed =
        std::ranges::find_if(words, [](const auto& w) { return w.starts_with('-'); });
    if (dashed != words.end())
        return unknown_option(chosen.empty() ? app : *chosen.front(), *dashed);
    if (!chosen.empty())
        return fmt::format("unexpected word '{}' after weft {}", words.front(),
                           chosen.front()->get_name());
    return fmt::format("unknown command '{}'{}", words.front(),
                       base::did_you_mean(words.front(), names_of_commands(app)));
}

}  // namespace

Option& Option::required() {
    option_->required()->default_str("");
    return *this;
}
Option& Option::one_of(std::vector<std::string> words) {
    option_->check(OneOf(std::move(words)));
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
    CLI::Option* const option = command.add_option(name, value, help);
    if (has_default(value)) option->capture_default_str();
    return Option(option);
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

void on_run(CLI::App& command, std::function<int()> run) {
    command.callback([run = std::move(run)] { throw CLI::RuntimeError(run()); });
}

void set_footer(CLI::App& command, const char* text) {
    command.footer(text);
}

void add_example(CLI::App& app, const char* command, const char* line) {
    CLI::App& described = *app.get_subcommand(command);
    std::string text = described.get_footer();
    if (text.find(kExamplesTitle) == std::string::npos)
        text += fmt::format("{}{}", text.empty() ? "" : "\n\n", kExamplesTitle);
    described.footer(fmt::format("{}\n  {}", text, line));
}

void keep_unknown_words(CLI::App& command) {
    command.allow_extras();
}

std::vector<std::string> unknown_words(const CLI::App& command) {
    return command.remaining();
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
        for (const std::string& name : option->get_snames()) known.push_back("-" + name);
    }
    const std::string name = word.substr(0, word.find('='));
    const bool weft_itself = command.get_parent() == nullptr;
    const bool letter = !name.starts_with("--");  // no suggestions for short options
    return fmt::format("unknown option {}{}{}{}", name, weft_itself ? "" : " of weft ",
                       weft_itself ? "" : command.get_name(),
                       letter ? "" : base::did_you_mean(name, known));
}

std::string reason_of(const CLI::App& app, const CLI::ParseError& refusal) {
    const std::string message = refusal.what();
    if (dynamic_cast<const CLI::ConversionError*>(&refusal) != nullptr) {
        // "Could not convert: --ranks = x"
        const std::size_t what = message.find(": "), value = message.find(" = ");
        if (what != std::string::npos && value != std::string::npos && what < value)
            return fmt::format("{}: '{}' is not a number",
                               message.substr(what + 2, value - what - 2),
                               message.substr(value + 3));
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&refusal) != nullptr &&
        message.ends_with("missing"))
        return message.substr(0, message.find(": ")) + ": its value is missing";
    if (dynamic_cast<const CLI::ExtrasError*>(&refusal) == nullptr) return message;
    const std::string reason = unexpected_word(app);
    return reason.empty() ? message : reason;
}

std::string first_example(const CLI::App& command) {
    const std::string text = command.get_footer();
    const std::size_t title = text.find(kExamplesTitle);
    if (title == std::string::npos) return {};
    const std::size_t begin =
        text.find_first_not_of(" \n", title + std::string_view(kExamplesTitle).size());
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return names;
}

std::size_t first_word_of_program(const CLI::App& command, const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word.size() < 2 || word.front() != '-') return i;
        const std::size_t equals = word.find('=');
        const bool is_long = word.starts_with("--");
        const bool is_alone = is_long ? equals == std::string::npos : word.size() == 2;
        const CLI::Option* const option =
            command.get_option_no_throw(is_long ? word.substr(0, equals) : word.substr(0, 2));
        if (option == nullptr) return words.size();  // the parser reports it
        if (is_alone && option->get_items_expected_max() > 0) ++i;
    }
    return words.size();
}

CommandLine::CommandLine(std::string name, std::string summary)
    : name_(std::move(name)), app_(std::make_unique<CLI::App>(std::move(summary), name_)) {}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::read(int argc, char** argv, bool prints) {
    constexpr int kUnusable = 2;
    try {
        app_->parse(argc, argv);
    } catch (const CLI::Success& answer) {  // --help
        if (prints) app_->exit(answer);
        return 0;
    } catch (const CLI::ParseError& refusal) {
        if (prints)
            fmt::print(stderr, "{0}: {1}\n{0}: try --help\n", name_, reason_of(*app_, refusal));
        return kUnusable;
    }
    return std::nullopt;
}

}  // namespace weft::lab
