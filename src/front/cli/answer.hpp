// SPDX-License-Identifier: BSD-3-Clause
// answer.hpp - what commands share that answer one question in one process: arguments, files,
// results.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "front/cli/command.hpp"
#include "front/cli/exit_status.hpp"

namespace weft::front {

/// The exit status that `status` says; a failure is reported on stderr.
[[nodiscard]] int status_of(const base::Result<int>& status);

/// Prints one JSON object on a line, or a line `name value` for each member, and a line
/// `name part value` for each part of a member that is an object itself.
void print_answer(const Json& object, bool json);

/// Of a file of programs or operations.
inline constexpr std::size_t kTextBytesMax = std::size_t{1} << 30;
/// `option`: the one that names the file.
[[nodiscard]] base::Result<void> write_file(const char* option, const std::string& path,
                                            const std::string& text);

/// Adds a command: run(arguments) is called once its arguments are parsed, which live as long as
/// it.
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

}  // namespace weft::front
