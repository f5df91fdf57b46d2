// SPDX-License-Identifier: BSD-3-Clause
// reference.hpp - what the parser knows of each command, as values, and what is written from them.
//
// Idea     The parser's description of the commands is the only one. --help prints it; man pages,
//          bash completion and `weft help --json` are written from the values here.
// Next     help_command.cpp for who asks.
#pragma once

#include <string>
#include <vector>

#include "front/cli/command.hpp"

namespace weft::front {

/// An option or, without a dash in front, an argument.
struct OptionText {
    std::vector<std::string> names;  ///< "-n", "--ranks"; one name of an argument
    std::string value;               ///< what kind of value it takes; empty: none
    std::vector<std::string> choices;
    std::vector<std::string> suggestions;  ///< some values, where the parser lets pass any
    std::string range;                     ///< that a number has to lie in
    std::string fallback;                  ///< value unless given
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
/// weft(1), and weft-NAME(1) of a command, in the language of man(7).
[[nodiscard]] std::string man_page(const Reference& reference);
[[nodiscard]] std::string man_page(const CommandText& command);
/// A script for bash to read.
[[nodiscard]] std::string bash_completion(const Reference& reference);

}  // namespace weft::front
