// SPDX-License-Identifier: BSD-3-Clause
// command_line.hpp - declares and reads command-line options, for `weft` and the programs of perf.
//
// Idea     A thin layer over the parser CLI11, which adds seconds of compile time to each file that
//          includes it. Only command_line.cpp and the main.cpp and help_command.cpp of `weft` do.
// Holds    The parser writes values to variables of the program, which must outlive the parser.
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

/// Restricts the values of an option. Each function returns the option, for chains of calls.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    Option& required();
    Option& one_of(std::vector<std::string> words);
    Option& within(int least, int most);  ///< inclusive
    Option& within(double least, double most);
    /// Permits several occurrences of the option, each with one value.
    Option& one_value_each();
    /// Permits several values in one word, as in 1,2,3.
    Option& comma_separated();
    /// Forbids use together with these options.
    Option& excludes(CLI::App& command, std::initializer_list<const char*> names);

  private:
    CLI::Option* option_;
};

/// Adds an option if `name` begins with a dash, else a positional argument. The help shows the
/// current `value` as the default. T: a type for which command_line.cpp instantiates the template.
template <class T>
Option add_option(CLI::App& command, const char* name, T& value, const char* help);
void add_flag(CLI::App& command, const char* name, bool& value, const char* help);

CLI::App& add_command(CLI::App& app, const char* name, const char* summary);
/// Sets the function that runs the command after its options are read. Its result, the exit status,
/// leaves the parser in a CLI::RuntimeError.
void on_run(CLI::App& command, std::function<int()> run);
void set_footer(CLI::App& command, const char* text);
/// Appends a line to the examples at the end of a command's help.
void add_example(CLI::App& app, const char* command, const char* line);
inline constexpr const char* kExamplesTitle = "Examples:";
/// Makes the parser accept words that are not options of the command; unknown_words() returns them.
void keep_unknown_words(CLI::App& command);
[[nodiscard]] std::vector<std::string> unknown_words(const CLI::App& command);
/// Returns a message about the unknown option `word`, with the closest known option.
[[nodiscard]] std::string unknown_option(const CLI::App& command, const std::string& word);
/// Returns the reason why the parser refused a command line, with a suggestion.
[[nodiscard]] std::string reason_of(const CLI::App& app, const CLI::ParseError& refusal);
/// Returns the first line of a command's examples, or an empty string.
[[nodiscard]] std::string first_example(const CLI::App& command);
[[nodiscard]] std::vector<std::string> names_of_commands(const CLI::App& app);
/// Returns the index of the first word after the command's name that is neither an option of the
/// command nor an option's value: the program to start. Without one, returns the number of words.
[[nodiscard]] std::size_t first_word_of_program(const CLI::App& command,
                                                const std::vector<std::string>& words);

/// The arguments of a program that has no commands.
class CommandLine {
  public:
    /// name: name of the program in messages.
    CommandLine(std::string name, std::string summary);
    ~CommandLine();

    [[nodiscard]] const std::string& name() const { return name_; }
    template <class T>
    Option option(const char* name, T& value, const char* help) {
        return add_option(*app_, name, value, help);
    }
    void flag(const char* name, bool& value, const char* help) {
        add_flag(*app_, name, value, help);
    }
    /// Reads the arguments. Returns nothing if the program can run, otherwise its exit status: 0
    /// after --help, 2 for unusable arguments. prints: print help and messages (in a job, only on
    /// rank 0).
    [[nodiscard]] std::optional<int> read(int argc, char** argv, bool prints = true);

  private:
    std::string name_;
    std::unique_ptr<CLI::App> app_;
};

}  // namespace weft::lab
