// SPDX-License-Identifier: BSD-3-Clause
// build_facts.cpp - facts about this build. Each build updates the commit in a file
// (cmake/WriteCommit.cmake); the other facts are known when the build is configured.
#include "tools/cli/build_facts.hpp"

#include <fmt/format.h>

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

}  // namespace weft::tools
