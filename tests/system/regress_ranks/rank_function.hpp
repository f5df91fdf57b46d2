// SPDX-License-Identifier: BSD-3-Clause
// rank_function.hpp - tests of bugs that need a job. Each file has the test and the function that
// its ranks run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {

/// A named function that ranks run. It returns the exit status. A file has a variable for each.
struct RankFunction {
    RankFunction(std::string name, int (*function)(const Words& arguments));
    int (*run)(const Words& arguments);
};

/// Runs a job whose ranks run the named function.
inline Outcome run_function(const Words& options, const std::string& name,
                            const Words& arguments = {}, const Words& settings = {}) {
    Words program{RANK_PROGRAMS "/weft_regress_ranks_test", "--rank", name};
    program.insert(program.end(), arguments.begin(), arguments.end());
    return run_ranks(options, program, settings);
}

}  // namespace weft::test
