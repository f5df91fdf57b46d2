// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/job_environment.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/environment.hpp"
#include "base/pmix_needs.hpp"

namespace weft::tools {
namespace {

bool describes_a_job(std::string_view variable) {
    if (variable.starts_with(std::string(base::kNodeIdVariable) + '=')) return true;
    return variable.starts_with("PMIX_") && !variable.starts_with("PMIX_MCA_");
}

/// Files of the launcher and its PMIx server: 14 with PMIx 4.2, and a reserve for other versions.
constexpr rlim_t kServerFiles = 16;
/// Files that are open briefly: 4 because two threads may each read a folder of /proc and a file in
/// it, and the write ends of a starting rank's two label pipes.
constexpr rlim_t kTemporaryFiles = 6;

/// Returns the number of files for the ranks: for each a connection, a process file and, with
/// labels, the read ends of two pipes.
rlim_t files_of_ranks(Rank ranks, bool label) {
    return static_cast<rlim_t>(ranks) * (label ? 4 : 2);
}

/// Returns the number of unused file numbers below the limit; stops counting at `enough`. Inherited
/// files also use numbers.
rlim_t free_files(rlim_t limit, rlim_t enough) {
    rlim_t count = 0;
    for (rlim_t file = 0; file < limit && count < enough; ++file) {
        if (::fcntl(static_cast<int>(file), F_GETFD) < 0) ++count;
    }
    return count;
}

void check_free_files(Rank ranks, rlim_t needed) {
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t free = free_files(limit.rlim_cur, needed);
    if (free < needed)
        fail(
            Status::environment,
            "a job of {} ranks needs {} more open files here, and the limit of {} leaves {}; raise "
            "the limit (ulimit -n)",
            ranks, needed, limit.rlim_cur, free);
}

}  // namespace

void clean_environment() {
    std::vector<std::string> names;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text = *variable;
        if (describes_a_job(text)) names.emplace_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : names) ::unsetenv(name.c_str());
    if (!base::has_home_folder()) ::setenv("HOME", "/", 0);
}

void restrain_hwloc() {
    constexpr int kKeep = 0;  // setenv() keeps a value that the user has set
    ::setenv("HWLOC_COMPONENTS", "-gl,-pci,-linuxio", kKeep);
    ::setenv("HWLOC_HIDE_ERRORS", "2", kKeep);
}

std::vector<std::string> environment_of_job(const std::vector<std::string>& settings) {
    std::vector<std::string> environment;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
        environment.emplace_back(*variable);
    for (const std::string& setting : settings) set_variable(environment, setting);
    return environment;
}

void set_variable(std::vector<std::string>& environment, const std::string& setting) {
    const std::string start = setting.substr(0, setting.find('=') + 1);
    const auto sets_it = [&](const std::string& entry) { return entry.starts_with(start); };
    const auto known = std::ranges::find_if(environment, sets_it);
    if (known != environment.end())
        *known = setting;
    else
        environment.push_back(setting);
}

void raise_file_limit(Rank ranks, bool label) {
    constexpr rlim_t kAmple = 128;  // more than the launcher and the server need
    const rlim_t rank_files = files_of_ranks(ranks, label);
    rlimit limit = {};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kAmple + rank_files) {
        limit.rlim_cur = std::min(limit.rlim_max, kAmple + rank_files);
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    check_free_files(ranks, kServerFiles + kTemporaryFiles + rank_files);
}

void check_files_for_ranks(Rank ranks, bool label) {
    check_free_files(ranks, kTemporaryFiles + files_of_ranks(ranks, label));
}

}  // namespace weft::tools
