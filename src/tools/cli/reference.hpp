// SPDX-License-Identifier: BSD-3-Clause
// reference.hpp - the parser's description of all commands as values, and texts written from it.
//
// Idea     The parser's description of the commands is the only one. --help prints it; man pages,
//          bash completion and `weft help --json` are written from the values here.
// Next     help_command.cpp, which prints these texts.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.hpp"

namespace weft::tools {

/// An option or, without leading dash, an argument.
struct OptionText {
    std::vector<std::string> names;  ///< "-n", "--ranks"; a single name for an argument
    std::string value;               ///< kind of value; empty: no value
    std::vector<std::string> choices;
    std::vector<std::string> suggestions;  ///< example values, where others are also permitted
    std::string range;                     ///< permitted range of a number
    std::string fallback;                  ///< default value
    std::string help;
    bool required = false;
    bool repeats = false;
};

struct CommandText {
    std::string name;
    std::string summary;
    std::string footer;
    std::vector<std::string> examples;
    bool runs_program = false;  ///< takes -- PROGRAM ARGUMENTS...
    std::vector<OptionText> arguments;
    std::vector<OptionText> options;
};

struct Reference {
    std::string summary;
    std::vector<OptionText> options;  ///< of weft itself
    std::vector<CommandText> commands;
};

[[nodiscard]] Reference describe(const CLI::App& app);

[[nodiscard]] Json to_json(const Reference& reference);
/// Return weft(1), or weft-NAME(1) of a command, in the format of man(7).
[[nodiscard]] std::string man_page(const Reference& reference);
[[nodiscard]] std::string man_page(const CommandText& command);
/// Returns a script for bash to source.
[[nodiscard]] std::string bash_completion(const Reference& reference);

}  // namespace weft::tools
