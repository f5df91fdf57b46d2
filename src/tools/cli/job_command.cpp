// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/job_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools/cli/exit_status.hpp"

namespace weft::tools {

bool is_first_rank() {
    const char* rank = std::getenv("PMIX_RANK");
    return rank == nullptr || std::string_view(rank) == "0";
}

bool is_in_job() {
    return std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

base::Failure start_job(Rank ranks, std::optional<Rank> nodes) {
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> own;
    for (std::string word; std::getline(file, word, '\0');) own.push_back(word);
    const std::string self = "/proc/self/exe";
    std::error_code failed;
    const std::string program = std::filesystem::read_symlink(self, failed).string();
    if (own.empty() || failed)
        return base::fail(Status::environment, "-n {}: cannot read how this command was called",
                          ranks);
    std::vector<std::string> words{program, "run", "-n", std::to_string(ranks)};
    if (nodes) words.insert(words.end(), {"--nodes", std::to_string(*nodes)});
    words.insert(words.end(), {"--", program});
    words.insert(words.end(), own.begin() + 1, own.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(program.c_str(), arguments.data());
    return base::fail(Status::environment, "-n {}: cannot start {}: {}", ranks, program,
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
