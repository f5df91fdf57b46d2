// SPDX-License-Identifier: BSD-3-Clause
// launches.hpp - jobs under `weft run` whose launcher starts in an unusual environment.
#pragma once

#include <string>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {

/// Returns `weft run ARGUMENTS` as a shell command, after `before`, with the redirections `after`.
inline Words launched(const std::string& before, const std::string& arguments,
                      const std::string& after = "") {
    return {"sh", "-c", before + " exec " RANK_PROGRAMS "/weft run " + arguments + " " + after};
}

/// Runs such a command to its end and checks that no process of it is left.
inline Outcome launch(const std::string& before, const std::string& arguments,
                      const std::string& after = "") {
    return run_command(launched(before, arguments, after));
}

}  // namespace weft::test
