// SPDX-License-Identifier: BSD-3-Clause
// launches.hpp - runs `weft run` in a shell, which first sets limits, traps and redirections.
#pragma once

#include <string>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {

/// Returns the command `sh -c 'BEFORE exec weft run ARGUMENTS AFTER'`: `before` has shell commands,
/// `after` has redirections.
inline Words launch_command(const std::string& before, const std::string& arguments,
                            const std::string& after = "") {
    return {"sh", "-c", before + " exec " RANK_PROGRAMS "/weft run " + arguments + " " + after};
}

/// Runs the command to its end and checks that none of its processes remains.
inline Outcome launch(const std::string& before, const std::string& arguments,
                      const std::string& after = "") {
    return run_command(launch_command(before, arguments, after));
}

}  // namespace weft::test
