// SPDX-License-Identifier: BSD-3-Clause
// launches.hpp - runs `weft run` by a shell, which first sets limits and redirections.
#pragma once

#include <string>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {

/// Returns `weft run ARGUMENTS` as a shell command, after `before`, with the redirections `after`.
inline Words launched(const std::string& before, const std::string& arguments,
                      const std::string& after = "") {
    return {"sh", "-c", before + " exec " RANK_PROGRAMS "/weft run " + arguments + " " + after};
}

/// Runs the command to its end and checks that none of its processes remains.
inline Outcome launch(const std::string& before, const std::string& arguments,
                      const std::string& after = "") {
    return run_command(launched(before, arguments, after));
}

}  // namespace weft::test
