// SPDX-License-Identifier: BSD-3-Clause
// play.hpp - tests of bugs that need real ranks. Each file has the test and the part that
// its ranks play.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {

/// A named function that ranks run. It returns the exit status. Each file defines one
/// as a variable.
struct Part {
    Part(std::string name, int (*play)(const Words& arguments));
    int (*play)(const Words& arguments);
};

/// Launches ranks that play a part.
inline Outcome run_part(const Words& options, const std::string& part, const Words& arguments = {},
                        const Words& settings = {}) {
    Words program{RANK_PROGRAMS "/weft_regress_ranks_test", "--rank", part};
    program.insert(program.end(), arguments.begin(), arguments.end());
    return run_ranks(options, program, settings);
}

}  // namespace weft::test
