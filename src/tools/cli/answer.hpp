// SPDX-License-Identifier: BSD-3-Clause
// answer.hpp - arguments, files and results of commands that answer one question in one process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/exit_status.hpp"

namespace weft::tools {

/// Returns the exit status; prints a failure to stderr.
[[nodiscard]] int status_of(const base::Result<int>& status);

/// Prints one JSON object on a line, or a line `name value` for each member. For a member that is
/// an object, prints a line `name part value` for each of its parts.
void print_answer(const Json& object, bool json);

/// Size limit of a file of programs or operations.
inline constexpr std::size_t kTextBytesMax = std::size_t{1} << 30;
/// option: the option that names the file, for messages.
[[nodiscard]] base::Result<void> write_file(const char* option, const std::string& path,
                                            const std::string& text);

/// Adds a command. run(arguments) is called after parsing; the arguments exist as long
/// as the command.
template <class Arguments>
[[nodiscard]] std::pair<CLI::App*, Arguments*> add_command(
    CLI::App& app, int& exit_status, const char* name, const char* summary,
    base::Result<int> (*run)(const Arguments& arguments)) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App& command = add_command(app, name, summary);
    on_run(command, exit_status, [arguments, run] { return status_of(run(*arguments)); });
    return {&command, arguments.get()};
}

void add_json_flag(CLI::App& command, bool& json);

}  // namespace weft::tools
