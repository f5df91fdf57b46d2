// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/job_command.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::tools {

namespace {

/// Returns the JSON object on a line of a program's output; discarded if it has none.
Json object_in(std::string_view text) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (line.starts_with('{')) {
            Json found = lab::read_json(std::string(line));
            if (found.is_object()) return found;
        }
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return Json(Json::value_t::discarded);
}

/// Returns the first line with text, because launchers frame their messages with rules.
std::string first_words(std::string_view text) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (line.find_first_not_of("-= \t") != std::string_view::npos) return std::string(line);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return {};
}

}  // namespace

bool is_first_rank() {
    const char* rank = std::getenv("PMIX_RANK");
    return rank == nullptr || std::string_view(rank) == "0";
}

bool is_in_job() {
    return std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

base::Result<std::string> own_program() {
    std::error_code failed;
    std::string path = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    if (failed) return base::fail(Status::environment, "/proc/self/exe cannot be read");
    return path;
}

std::string in_quotes(std::string_view word) {
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

base::Result<ProgramOutput> output_of(const std::string& command) {
    std::FILE* const pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) return base::fail(Status::environment, "a shell cannot be started");
    ProgramOutput output;
    std::array<char, 4096> piece;
    while (const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), pipe))
        output.text.append(piece.data(), bytes);
    const int ended = ::pclose(pipe);
    output.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    return output;
}

base::Result<Json> json_of(const std::vector<std::string>& words, double seconds) {
    std::string command =
        fmt::format("exec timeout --foreground -k 5 {:.0f} env", std::ceil(std::max(seconds, 1.0)));
    for (const std::string& word : words) command += " " + in_quotes(word);
    const auto output = output_of(command + " 2>&1 </dev/null");
    if (!output) return output.failure();
    // Status 1 means that an answer is no; the object has the answer.
    Json found = output->status <= 1 ? object_in(output->text) : Json(Json::value_t::discarded);
    if (found.is_object()) return found;
    if (output->status == 124)
        return base::fail(Status::environment, "no end within {:.0f} s", seconds);
    const std::string said = first_words(output->text);
    return base::fail(
        Status::environment, "{}",
        said.empty() ? fmt::format("status {}, no JSON object", output->status) : said);
}

base::Failure start_job(Rank ranks, std::optional<Rank> nodes) {
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> own;
    for (std::string word; std::getline(file, word, '\0');) own.push_back(word);
    const auto program = own_program();
    if (own.empty() || !program)
        return base::fail(Status::environment, "-n {}: cannot read how this command was called",
                          ranks);
    std::vector<std::string> words{*program, "run", "-n", std::to_string(ranks)};
    if (nodes) words.insert(words.end(), {"--nodes", std::to_string(*nodes)});
    words.insert(words.end(), {"--", *program});
    words.insert(words.end(), own.begin() + 1, own.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(program->c_str(), arguments.data());
    return base::fail(Status::environment, "-n {}: cannot start {}: {}", ranks, *program,
                      std::strerror(errno));
}

/// Prints the failure on rank 0. The other ranks wait first, because the launcher ends the job when
/// a rank exits, before rank 0 may have printed.
int refuse(const char* command, const base::Failure& failure) {
    const bool on_all_ranks = exit_status_of(failure.status) == kUnusableArguments;
    if (on_all_ranks && !is_first_rank()) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
    } else {
        fmt::print(stderr, "weft {}: {}\n", command, failure.text);
    }
    return exit_status_of(failure.status);
}

}  // namespace weft::tools
