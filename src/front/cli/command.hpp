// SPDX-License-Identifier: BSD-3-Clause
// command.hpp - how a command of `weft` declares its options.
//
// Idea     Thin names over CLI11, which parses. CLI11 is seen by command.cpp, main.cpp and reference.cpp alone:
//          including it costs seconds of compile time in each file.
// Holds    Values are references into the command's arguments, which live as long as the parser.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::front {

/// An option that is being declared.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    Option& required();
    /// Help shows the value that it has unless given.
    Option& shows_default();
    Option& one_of(std::vector<std::string> words);
    Option& within(int least, int most);
    Option& within(double least, double most);
    Option& existing_file();
    /// May be given several times, with one value each.
    Option& one_value_each();
    /// Cannot be given together with these.
    Option& excludes(CLI::App& command, std::initializer_list<const char*> names);

  private:
    CLI::Option* option_;
};

/// A name that begins with a dash is an option, any other one a positional argument. T: std::string, a number,
/// an std::optional of one, or a vector of strings (instantiated in command.cpp).
template <class T>
Option add_option(CLI::App& command, const char* name, T& value, const char* help);
void add_flag(CLI::App& command, const char* name, bool& value, const char* help);

CLI::App& add_command(CLI::App& app, const char* name, const char* summary);
/// What the command does once its options are read; the result is the exit status of weft.
void on_run(CLI::App& command, int& exit_status, std::function<int()> run);
void set_footer(CLI::App& command, const char* text);
/// Words that are no option of the command are kept: unknown_words() has them when it runs.
void keep_unknown_words(CLI::App& command);
[[nodiscard]] std::vector<std::string> unknown_words(const CLI::App& command);
/// What --help prints for weft, or for one of its commands.
[[nodiscard]] std::string help_text(const CLI::App& app, const std::string& command);

}  // namespace weft::front
