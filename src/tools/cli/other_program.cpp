// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/other_program.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string_view>

namespace weft::tools {

namespace {

/// Quotes a word for a shell.
std::string as_one_word(std::string_view word) {
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

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
    return Json::discarded();
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

base::Result<std::string> own_program() {
    std::error_code failed;
    std::string path = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    if (failed) return base::fail(Status::environment, "/proc/self/exe cannot be read");
    return path;
}

base::Result<Json> json_of(const std::vector<std::string>& words, double seconds) {
    std::string command =
        fmt::format("exec timeout --foreground -k 5 {:.0f} env", std::ceil(std::max(seconds, 1.0)));
    for (const std::string& word : words) command += " " + as_one_word(word);
    std::FILE* const pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "re");
    if (pipe == nullptr) return base::fail(Status::environment, "a shell cannot be started");
    std::string text;
    std::array<char, 4096> piece;
    while (const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), pipe))
        text.append(piece.data(), bytes);
    const int ended = ::pclose(pipe);
    const int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    // Status 1 means that an answer is no; the object has the answer.
    Json found = status <= 1 ? object_in(text) : Json::discarded();
    if (found.is_object()) return found;
    if (status == 124) return base::fail(Status::environment, "no end within {:.0f} s", seconds);
    const std::string said = first_words(text);
    return base::fail(Status::environment, "{}",
                      said.empty() ? fmt::format("status {}, no JSON object", status) : said);
}

}  // namespace weft::tools
