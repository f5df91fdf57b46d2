// SPDX-License-Identifier: BSD-3-Clause
// machine_facts.cpp - each build updates the commit in a file (cmake/WriteCommit.cmake); the other
// facts about the executable are known when the build is configured.
#include "tools/cli/machine_facts.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace weft::tools {

extern const char* const kCommit;

std::string build_commit() {
    return kCommit;
}

std::string build_compiler() {
    return WEFT_COMPILER;
}

std::string build_type() {
    const std::string type = WEFT_BUILD_TYPE;
    return type.empty() ? "no build type" : type;
}

std::string version_line() {
    return fmt::format("weft {} (commit {}, {}, {})", WEFT_VERSION, build_commit(),
                       build_compiler(), build_type());
}

int usable_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

std::string machine_name() {
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) != 0) return "unknown";
    return fmt::format("{}, {} processors", name, sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace weft::tools
