// SPDX-License-Identifier: BSD-3-Clause
// build_facts.hpp - sources and compiler of this executable.
#pragma once

#include <string>

namespace weft::tools {

/// Returns the commit of the sources, with -dirty if they differ from it; "unknown"
/// without a repository.
[[nodiscard]] std::string build_commit();
[[nodiscard]] std::string build_compiler();  ///< "GNU 12.2.0"
[[nodiscard]] std::string build_type();      ///< CMake's build type

/// Returns "weft 0.1.0 (commit 1a2b3c4d5e, GNU 12.2.0, Release)".
[[nodiscard]] std::string version_line();

}  // namespace weft::tools
