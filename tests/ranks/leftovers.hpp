// SPDX-License-Identifier: BSD-3-Clause
// leftovers.hpp - what a job could leave behind outside its temporary folder, and its last report.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

namespace weft::test {

inline std::set<std::string> shared_files() {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error))
        names.insert(entry.path());
    return names;
}

/// Files that were not there before, and stay. Jobs of other tests have files, too: those get time
/// to go, and what comes while this waits is not of the job that is over.
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

/// Lines that match as a whole.
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

/// The line by which a rank says whom it waits for.
inline std::string waiting_line(const std::string& rank, const std::string& peer) {
    return "weft: rank " + rank + ": [a-z_]+ [^ ]+ epoch [0-9]+ step [0-9]+: waiting for rank " +
           peer + " \\(have [0-9]+, want [0-9]+\\)";
}

}  // namespace weft::test
