// SPDX-License-Identifier: BSD-3-Clause
// machine_facts.hpp - facts about this executable and this machine.
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

/// Returns the number of processors that this process may use, at least 1.
[[nodiscard]] int usable_processors();
/// Returns the name of this machine and the number of its processors, for readers of files.
[[nodiscard]] std::string machine_name();

}  // namespace weft::tools
