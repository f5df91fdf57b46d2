// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/command.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.hpp"
#include "tools/cli/job_command.hpp"

namespace weft::tools {

namespace fs = std::filesystem;

/// All ranks have equal arguments, so rank 0 prints for all. Other ranks exit a second later: the
/// launcher ends the job when a rank exits, and rank 0 must print first.
int run_command(const char* speaker, const std::function<int()>& run) {
    try {
        return run();
    } catch (const Error& error) {
        const int status = exit_status_of(error.status());
        if (status == kUnusableArguments && !is_first_rank())
            std::this_thread::sleep_for(std::chrono::seconds(1));
        else
            fmt::print(stderr, "{}: {}\n", speaker, error.what());
        return status;
    }
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
        for (const auto& [part, part_value] : value.items())
            fmt::print("{:18} {}\n", fmt::format("{} {}", name, part), plain_text(part_value));
    }
}

void write_file(const char* option, const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) fail(Status::environment, "{}: cannot write {}", option, path);
}

void replace_file(const char* option, const std::string& path, const std::string& text) {
    std::error_code unknown;
    const fs::path target = fs::weakly_canonical(path, unknown);  // a link stays a link
    if (unknown || (fs::exists(target, unknown) && !fs::is_regular_file(target, unknown))) {
        write_file(option, path, text);  // rename() would remove a device
        return;
    }
    const std::string part = fmt::format("{}.part{}", target.string(), ::getpid());
    write_file(option, part, text);
    if (std::rename(part.c_str(), target.c_str()) != 0)
        fail(Status::environment, "{}: cannot write {}", option, path);
}

void add_json_flag(CLI::App& command, bool& json) {
    add_flag(command, "--json", json, "as one JSON object");
}

const char* const kBuildCompiler = WEFT_COMPILER;
const char* const kBuildType = sizeof WEFT_BUILD_TYPE > 1 ? WEFT_BUILD_TYPE : "no build type";

std::string version_line() {
    return fmt::format("weft {} (commit {}, {}, {})", WEFT_VERSION, kCommit, kBuildCompiler,
                       kBuildType);
}

int usable_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

std::string machine_name() {
    return fmt::format("{}, {} processors", base::host_name(), sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace weft::tools
