// SPDX-License-Identifier: BSD-3-Clause
// rank_function.hpp - for tests of bugs that need a job. A test file has the test and the functions
// that its ranks run: the ranks are processes of the test program, started with --rank NAME.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {

/// A named function that ranks run. It returns the exit status: 0 or the number of the failed
/// check. A static variable of this type registers the function.
struct RankFunction {
    RankFunction(std::string name, int (*function)(const Words& arguments));
    int (*run)(const Words& arguments);
};

/// Runs a job whose ranks run the named function. options: of `weft run`. arguments: of the
/// function. settings: environment variables, as NAME=VALUE.
inline Outcome run_function(const Words& options, const std::string& name,
                            const Words& arguments = {}, const Words& settings = {}) {
    Words program{RANK_PROGRAMS "/weft_regress_ranks_test", "--rank", name};
    program.insert(program.end(), arguments.begin(), arguments.end());
    return run_ranks(options, program, settings);
}

}  // namespace weft::test
