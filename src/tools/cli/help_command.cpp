// SPDX-License-Identifier: BSD-3-Clause
// help_command.cpp - `weft help`: the text of --help, also as man pages, completion and JSON.
//
// Idea     All texts come from the parser's description of the commands. help2man makes the man
//          pages from --help; the completion is made from the JSON.
// Holds    Man pages have no date, so equal sources give equal pages.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "base/element_types.hpp"
#include "base/environment.hpp"
#include "base/units.hpp"
#include "collectives/registry.hpp"
#include "run/team/choice.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/lab/cost/parameters.hpp"

namespace weft::tools {

namespace {

struct HelpArguments {
    std::string command;
    bool man = false;
    bool completion = false;
    bool json = false;
    std::string write;
};

template <class Names>
std::vector<std::string> words(const Names& names) {
    return {names.begin(), names.end()};
}

/// Returns suggested values of a command's option.
std::vector<std::string> suggestions_for(const std::string& command, const std::string& option) {
    if (option == "--type") return words(base::type_names());
    if (option == "--op") return words(base::op_names());
    if (option == "--provider") return words(run::providers_with_costs());
    if (option == "--objective" && command == "explain") return words(base::kObjectiveNames);
    if (option == "--objective") return {"time", "energy", "memory", "edp"};
    if (option == "--model") return {"postal", "pipelined-postal", "logp", "loggp", "lop", "logfp"};
    std::vector<std::string> found;
    if (option == "--params")
        for (const lab::CostParameters& set : lab::named_parameters()) found.emplace_back(set.name);
    if (option == "-x")
        for (const base::Variable& variable : base::variables()) found.emplace_back(variable.name);
    if (option == "--algorithm") {
        found = {"auto", "all"};
        for (const collectives::Algorithm& algorithm : collectives::algorithms())
            if (std::ranges::find(found, algorithm.name) == found.end())
                found.emplace_back(algorithm.name);
    }
    return found;
}

Json describe_option(const CLI::Option& option, const std::string& command = {}) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    if (names.empty()) names.push_back(option.get_name(true, false));
    // The kind of a value and its limits, such as TEXT:{a,b} or UINT:INT in [0 - 9].
    const std::string type = option.get_items_expected_max() > 0 ? option.get_type_name() : "";
    const std::string kind = type.substr(0, type.find(':'));
    const std::string rule = type.substr(std::min(kind.size() + 1, type.size()));
    const std::size_t range = rule.find('[');
    std::vector<std::string> choices;
    if (rule.starts_with('{') && rule.ends_with('}'))
        choices = words(base::split_list(std::string_view(rule).substr(1, rule.size() - 2)));
    // Some commands check the name of a collective themselves, so the parser has no choices.
    else if (names.front() == "collective")
        choices = words(collectives::kCollectiveNames);
    std::string fallback = option.get_default_str();
    if (fallback.starts_with('[') && fallback.ends_with(']'))
        fallback = fallback.substr(1, fallback.size() - 2);
    return {{"names", names},
            {"value", kind},
            {"choices", choices},
            {"suggestions",
             choices.empty() ? suggestions_for(command, names.back()) : std::vector<std::string>()},
            {"range",
             range == std::string::npos ? "" : rule.substr(range + 1, rule.find(']') - range - 1)},
            {"default", fallback},
            {"help", option.get_description()},
            {"required", option.get_required()},
            {"repeats", option.get_items_expected_max() > 1}};
}

Json describe_command(const CLI::App& command) {
    const std::string name = command.get_name();
    const std::string text = command.get_footer();
    const std::size_t title = std::min(text.find(lab::kExamplesTitle), text.size());
    std::string footer = text.substr(0, title);
    while (footer.ends_with('\n')) footer.pop_back();
    Json examples = Json::array();
    std::istringstream lines(text.substr(title));
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("  ")) examples.push_back(line.substr(2));
    Json arguments = Json::array();
    Json options = Json::array();
    for (const CLI::Option* option : command.get_options())
        (option->get_positional() ? arguments : options).push_back(describe_option(*option, name));
    return {{"name", name},
            {"summary", command.get_description()},
            {"footer", footer},
            {"examples", std::move(examples)},
            {"arguments", std::move(arguments)},
            {"options", std::move(options)}};
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

Json describe(const CLI::App& app) {
    Json options = Json::array();
    Json commands = Json::array();
    for (const CLI::Option* option : app.get_options()) options.push_back(describe_option(*option));
    for (const CLI::App* command : commands_of(app)) commands.push_back(describe_command(*command));
    return {{"version", WEFT_VERSION},
            {"options", std::move(options)},
            {"commands", std::move(commands)}};
}

std::string joined(const Json& texts, const char* between) {
    return fmt::format("{}", fmt::join(texts.get<std::vector<std::string>>(), between));
}

std::string names_of(const Json& options) {
    std::vector<std::string> names;
    for (const Json& option : options) names.push_back(joined(option["names"], " "));
    return fmt::format("{}", fmt::join(names, " "));
}

/// Returns the branch of the script's `case` for a command: the possible values of each option, and
/// the words that complete any other word. runs_program: a program may follow (`weft run`).
std::string command_branch(const Json& command, bool runs_program) {
    std::string values;
    for (const Json& option : command["options"]) {
        if (option["value"] == "") continue;
        const Json& given = option[option["choices"].empty() ? "suggestions" : "choices"];
        // An option without a list takes a file name; --params takes a name of the list or a file.
        const bool files = given.empty() || option["names"].back() == "--params";
        values += fmt::format("        {}) words=\"{}\"; files={} ;;\n",
                              joined(option["names"], "|"), joined(given, " "), files ? "yes" : "");
    }
    std::string choices;
    for (const Json& argument : command["arguments"])
        choices += (choices.empty() ? "" : " ") + joined(argument["choices"], " ");
    return fmt::format(
        "    {}) case $previous in\n{}"
        "        *) if [[ $word == -* ]]; then words=\"{}\"; else words=\"{}\"; {}fi ;;\n"
        "        esac ;;\n",
        json_text(command["name"]), values, names_of(command["options"]), choices,
        runs_program ? "programs=yes; " : "");
}

/// Returns a script for bash to source. A program follows `--`, or in `weft run` the options.
std::string bash_completion(const CLI::App& app) {
    const Json reference = describe(app);
    std::string commands;
    std::string branches;
    for (const Json& command : reference["commands"]) {
        const std::string name = json_text(command["name"]);
        commands += name + " ";
        branches += command_branch(command, app.get_subcommand(name)->get_allow_extras());
    }
    return fmt::format(
        "# bash completion of weft {}, written by `weft help --completion`\n"
        "_weft() {{\n"
        "    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
        "    local words= files= programs= i\n"
        "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
        "        [[ ${{COMP_WORDS[i]}} == -- ]] || continue\n"
        "        if ((i + 1 == COMP_CWORD)); then\n"
        "            mapfile -t COMPREPLY < <(compgen -c -f -- \"$word\")\n"
        "        else\n"
        "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
        "        fi\n"
        "        return\n"
        "    done\n"
        "    if ((COMP_CWORD == 1)); then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"{}{}\" -- \"$word\")\n"
        "        return\n"
        "    fi\n"
        "    case ${{COMP_WORDS[1]}} in\n"
        "{}"
        "    esac\n"
        "    mapfile -t COMPREPLY < <(\n"
        "        [[ -z $words ]] || compgen -W \"$words\" -- \"$word\"\n"
        "        [[ -z $files ]] || compgen -f -- \"$word\"\n"
        "        [[ -z $programs ]] || compgen -c -f -- \"$word\")\n"
        "}}\n"
        "complete -o bashdefault -o default -F _weft weft\n",
        WEFT_VERSION, commands, names_of(reference["options"]), branches);
}

constexpr const char* kStatuses =
    "[EXIT STATUS]\n"
    ".TP\n0\nDone, and right.\n"
    ".TP\n1\nThe answer is no: a program does not verify, a result was wrong.\n"
    ".TP\n2\nUnusable arguments; the message names the argument and the rule.\n"
    ".TP\n3\nThe environment failed: no provider, no memory, a rank died.\n\n";

/// Returns the sections of weft(1) that --help does not have, in the format of help2man --include.
std::string sections_of_weft(const CLI::App& app) {
    std::string text = fmt::format("{}[ENVIRONMENT]\n", kStatuses);
    for (const base::Variable& variable : base::variables())
        text += fmt::format(
            ".TP\n.B {}\n{}. Value: {}.{}\n", variable.name, variable.meaning, variable.form,
            variable.fallback.empty() ? "" : fmt::format(" Default: {}.", variable.fallback));
    for (const std::string_view kind : collectives::kCollectiveNames)
        text += fmt::format(".TP\n.B {}\nThe algorithm of every {}, as weft list shows them.\n",
                            base::algorithm_variable(kind), kind);
    text += "\n[SEE ALSO]\n";
    for (const CLI::App* command : commands_of(app))
        text += fmt::format(".BR weft-{} (1)\n", command->get_name());
    return text;
}

/// Returns a man page of a command, or of weft itself if `command` is nullptr.
base::Result<std::string> man_page(const CLI::App& app, const CLI::App* command) {
    const std::string name = command == nullptr ? "" : command->get_name();
    const std::string page = command == nullptr ? "weft" : "weft-" + name;
    const std::string summary = (command == nullptr ? app : *command).get_description();
    // A launcher returns the status of its program; its footer explains this.
    const std::string more = command == nullptr
                                 ? sections_of_weft(app)
                                 : fmt::format("{}[SEE ALSO]\n.BR weft (1)\n",
                                               command->get_allow_extras() ? "" : kStatuses);
    const std::string text =
        output_of(
            fmt::format("help2man --no-info --manual=weft --version-string={0} --name={1} "
                        "--include=/dev/stdin "
                        "{2} 2>&1 <<'END' | sed '/^\\.TH/s/ \"1\" \"[^\"]*\"/ 1 \"\"/'\n{3}END\n",
                        in_quotes(fmt::format("{} {}", page, WEFT_VERSION)),
                        in_quotes(summary.substr(command == nullptr ? summary.find(' ') + 1 : 0)),
                        in_quotes(in_quotes(own_program()) + " " + name), more))
            .text;
    if (text.starts_with(".")) return text;
    return base::fail(Status::environment, "man pages are made by help2man: {}",
                      text.substr(0, text.find('\n')));
}

/// Writes the completion and all man pages below `folder`, an installation's share/. Without
/// help2man, writes only the completion and prints the reason.
void write_all(const CLI::App& app, const std::filesystem::path& folder) {
    const auto write_page = [](const std::filesystem::path& path, const std::string& text) {
        std::error_code problem;
        std::filesystem::create_directories(path.parent_path(), problem);
        write_file("--write", path.string(), text);
    };
    write_page(folder / "bash-completion/completions/weft", bash_completion(app));
    std::vector<const CLI::App*> described{nullptr};
    for (const CLI::App* command : commands_of(app)) described.push_back(command);
    for (const CLI::App* command : described) {
        const auto page = man_page(app, command);
        if (!page) return fmt::print(stderr, "weft help: {}\n", page.failure().text);
        const std::string name = command == nullptr ? "" : "-" + command->get_name();
        write_page(folder / fmt::format("man/man1/weft{}.1", name), *page);
    }
}

int help(const CLI::App& app, const HelpArguments& arguments) {
    const auto commands = commands_of(app);
    const auto found = std::ranges::find(commands, arguments.command, &CLI::App::get_name);
    const CLI::App* const command = found == commands.end() ? nullptr : *found;
    if (!arguments.command.empty() && command == nullptr)
        refuse("command: weft has no command {}; weft --help lists the commands",
               arguments.command);
    if (!arguments.write.empty())
        write_all(app, arguments.write);
    else if (arguments.man)
        fmt::print("{}", need(man_page(app, command)));
    else if (arguments.completion)
        fmt::print("{}", bash_completion(app));
    else if (arguments.json)
        print_json(describe(app));
    else
        fmt::print("{}", command == nullptr ? app.help() : command->help("weft"));
    return 0;
}

}  // namespace

void add_help_command(CLI::App& app) {
    const auto [command, arguments] =
        add_command<HelpArguments>(app, "help", "describe a command and its options",
                                   [&app](const HelpArguments& given) { return help(app, given); });
    add_option(*command, "command", arguments->command,
               "the command to describe; default: weft itself");
    add_flag(*command, "--man", arguments->man, "print a man page: weft help --man run | man -l -");
    add_flag(*command, "--completion", arguments->completion,
             "print the completion for bash: source <(weft help --completion)");
    add_option(*command, "--write", arguments->write,
               "write all man pages and the completion below this folder");
    add_flag(*command, "--json", arguments->json, "all commands as one JSON object on stdout");
}

}  // namespace weft::tools
