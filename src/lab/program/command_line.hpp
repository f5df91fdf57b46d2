// SPDX-License-Identifier: BSD-3-Clause
// command_line.hpp - how a program declares and reads its options: `weft` and its commands, the
// programs of perf.
//
// Idea     Thin names over CLI11, which parses. CLI11 is seen by command_line.cpp, and by main.cpp
//          and reference.cpp of `weft`: including it costs seconds of compile time in each file.
// Holds    Values are references into the program's arguments, which live as long as the parser.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace weft::lab {

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
    /// Several values stand in one word, as in 1,2,3.
    Option& comma_separated();
    /// Cannot be given together with these.
    Option& excludes(CLI::App& command, std::initializer_list<const char*> names);

  private:
    CLI::Option* option_;
};

/// A name that begins with a dash is an option, any other one a positional argument. T:
/// std::string, a number, an std::optional of one, or several of one (instantiated in
/// command_line.cpp).
template <class T>
Option add_option(CLI::App& command, const char* name, T& value, const char* help);
void add_flag(CLI::App& command, const char* name, bool& value, const char* help);

CLI::App& add_command(CLI::App& app, const char* name, const char* summary);
/// What the command does once its options are read; the result is the exit status of weft.
void on_run(CLI::App& command, int& exit_status, std::function<int()> run);
void set_footer(CLI::App& command, const char* text);
/// Appends a line to the examples at the end of a command's help.
void add_example(CLI::App& app, const char* command, const char* line);
/// What stands in front of these lines.
inline constexpr const char* kExamplesTitle = "Examples:";
/// Words that are no option of the command are kept: unknown_words() has them when it runs.
void keep_unknown_words(CLI::App& command);
[[nodiscard]] std::vector<std::string> unknown_words(const CLI::App& command);
/// Says that the command has no such option, and which one was probably meant.
[[nodiscard]] std::string unknown_option(const CLI::App& command, const std::string& word);
/// Why the parser refused a command line, with what was probably meant.
[[nodiscard]] std::string reason_of(const CLI::App& app, const CLI::ParseError& refusal);
/// The first line of a command's examples, or nothing.
[[nodiscard]] std::string first_example(const CLI::App& command);
/// Name of the command on the command line, as far as that was read; nothing if there is none.
[[nodiscard]] std::string command_given(const CLI::App& app);
/// Of a command that starts a program: where among its words the program stands, behind the
/// options and their values; the number of words if it is not there.
[[nodiscard]] std::size_t first_word_of_program(const CLI::App& command,
                                                const std::vector<std::string>& words);
/// What --help prints for weft, or for one of its commands.
[[nodiscard]] std::string help_text(const CLI::App& app, const std::string& command);

/// The arguments of a program that has no commands.
class CommandLine {
  public:
    /// `name`: of the program, for what it says of its arguments.
    CommandLine(std::string name, std::string summary);
    ~CommandLine();

    [[nodiscard]] const std::string& name() const { return name_; }
    template <class T>
    Option option(const char* name, T& value, const char* help) {
        return add_option(*app_, name, value, help);
    }
    void flag(const char* name, bool& value, const char* help);
    /// Reads the arguments. Nothing if the program can work; otherwise its exit status: 0 after
    /// --help, 2 if the arguments are unusable. Prints the help or the reason only if it `speaks`
    /// (of a job: rank 0).
    [[nodiscard]] std::optional<int> read(int argc, char** argv, bool speaks = true);

  private:
    std::string name_;
    std::unique_ptr<CLI::App> app_;
};

}  // namespace weft::lab
