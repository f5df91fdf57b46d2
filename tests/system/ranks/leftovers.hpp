// SPDX-License-Identifier: BSD-3-Clause
// leftovers.hpp - finds files that a job has left in shared memory, and lines in the output of a
// job.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

namespace weft::test {

/// Returns the files in /dev/shm.
inline std::set<std::string> shared_files() {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error))
        names.insert(entry.path());
    return names;
}

/// Returns the files that are new since `before` and still exist after 30 s: within this time, jobs
/// of other tests remove theirs. Returns early if no such file is left.
inline std::set<std::string> new_shared_files(const std::set<std::string>& before) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::set<std::string> added = shared_files();
    for (const std::string& file : before) added.erase(file);
    while (!added.empty() && std::chrono::steady_clock::now() < deadline) {
        ::poll(nullptr, 0, 50);
        std::erase_if(added,
                      [](const std::string& file) { return !std::filesystem::exists(file); });
    }
    return added;
}

/// Returns the lines that match the whole pattern, without repetitions.
inline std::set<std::string> lines_like(const std::string& text, const std::string& pattern) {
    std::set<std::string> found;
    const std::regex wanted(pattern);
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        const std::string line = text.substr(start, end - start);
        if (std::regex_match(line, wanted)) found.insert(line);
        start = end + 1;
    }
    return found;
}

/// Returns the pattern of the line in which a rank names the peer for which it waits.
inline std::string waiting_line(const std::string& rank, const std::string& peer) {
    return "weft: rank " + rank + ": [a-z_]+ [^ ]+ epoch [0-9]+ step [0-9]+: waiting for rank " +
           peer + " \\(have [0-9]+, want [0-9]+\\)";
}

}  // namespace weft::test
