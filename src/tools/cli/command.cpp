// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weft::tools {

int status_of(const base::Result<int>& status) {
    if (status) return *status;
    fmt::print(stderr, "weft: {}\n", status.failure().text);
    return exit_status_of(status.failure().status);
}

namespace {

/// Formats a value for people; numbers have no more digits than needed.
std::string plain_text(const Json& value) {
    if (value.is_null() || (value.is_string() && json_text(value).empty())) return "-";
    return value.is_number_float() ? fmt::format("{:.10g}", value.get<double>()) : json_text(value);
}

}  // namespace

void print_answer(const Json& object, bool json) {
    if (json) {
        print_json(object);
        return;
    }
    for (const auto& [name, value] : object.items()) {
        if (!value.is_object()) {
            fmt::print("{:18} {}\n", name, plain_text(value));
            continue;
        }
        for (const auto& [part, of_it] : value.items())
            fmt::print("{:18} {}\n", fmt::format("{} {}", name, part), plain_text(of_it));
    }
}

base::Result<void> write_file(const char* option, const std::string& path,
                              const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) return base::fail(Status::environment, "{}: cannot write {}", option, path);
    return base::Done{};
}

void add_json_flag(CLI::App& command, bool& json) {
    add_flag(command, "--json", json, "as one JSON object");
}

}  // namespace weft::tools
