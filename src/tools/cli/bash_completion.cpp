// SPDX-License-Identifier: BSD-3-Clause
// bash_completion.cpp - writes a completion script for bash from the parser's description.
//
// Idea     Tables in the script list the options of each command and the words of each value; a few
//          lines of bash look up the word at the cursor. After -- another program follows; `weft
//          run` also accepts one in place of an option.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/reference.hpp"

namespace weft::tools {

namespace {

std::string names_of(const std::vector<OptionText>& options) {
    std::string text;
    for (const OptionText& option : options)
        for (const std::string& name : option.names)
            text += fmt::format("{}{}", text.empty() ? "" : " ", name);
    return text;
}

const std::vector<std::string>& words_of(const OptionText& option) {
    return option.choices.empty() ? option.suggestions : option.choices;
}

/// Returns true for an option that takes a file, or a name or file (--params).
bool takes_file(const OptionText& option) {
    return words_of(option).empty() || option.names.back() == "--params";
}

/// Writes a branch of a case for each option with a value.
std::string value_branches(const CommandText& command) {
    std::string text;
    for (const OptionText& option : command.options) {
        if (option.value.empty()) continue;
        text += fmt::format("        {}) words=\"{}\"; files={} ;;\n",
                            fmt::format("{}", fmt::join(option.names, "|")),
                            fmt::format("{}", fmt::join(words_of(option), " ")),
                            takes_file(option) ? "yes" : "");
    }
    return text;
}

std::string command_branch(const CommandText& command) {
    std::string choices;
    for (const OptionText& argument : command.arguments)
        choices += fmt::format(" {}", fmt::join(argument.choices, " "));
    const std::string values = value_branches(command);
    return fmt::format(
        "    {}) case $previous in\n{}"
        "        *) if [[ $word == -* ]]; then words=\"{}\"; else words=\"{}\"; {}fi ;;\n"
        "        esac ;;\n",
        command.name, values, names_of(command.options), choices.empty() ? "" : choices.substr(1),
        command.runs_program ? "programs=yes; " : "");
}

}  // namespace

std::string bash_completion(const Reference& reference) {
    std::string commands;
    std::string branches;
    for (const CommandText& command : reference.commands) {
        commands += fmt::format("{} ", command.name);
        branches += command_branch(command);
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
        WEFT_VERSION, commands, names_of(reference.options), branches);
}

}  // namespace weft::tools
