// SPDX-License-Identifier: BSD-3-Clause
// launches.hpp - jobs under `weft run` whose launcher is started in an unusual way.
#pragma once

#include <string>

#include "tests/ranks/ranks_job.hpp"

namespace weft::test {

/// `weft run ARGUMENTS` as a line of a shell, after `before` and with the redirections `after`.
inline Words launched(const std::string& before, const std::string& arguments,
                      const std::string& after = "") {
    return {"sh", "-c", before + " exec " RANK_PROGRAMS "/weft run " + arguments + " " + after};
}

/// Runs it to its end; nothing of it may be left then.
inline Outcome launch(const std::string& before, const std::string& arguments,
                      const std::string& after = "") {
    return run_command(launched(before, arguments, after));
}

}  // namespace weft::test
