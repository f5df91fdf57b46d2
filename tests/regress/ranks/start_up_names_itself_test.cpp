// SPDX-License-Identifier: BSD-3-Clause
// Bug: when a rank had gone before the cards were exchanged, Open MPI's mpirun printed half a
// message, without the rank, and what the others said at SIGTERM was that they wait for the cards
// of all ranks. Method: a rank that drops the launcher's variables, which mpirun takes for a rank
// that runs and its mates for one that has gone; a mate is asked to end. On the code before, its
// line names no rank but its own.
#include <fmt/format.h>

#include <regex>

#include "tests/regress/ranks/play.hpp"

namespace weft::test {
namespace {

/// What rank 0 says after these seconds, if rank 1 has stayed for so many.
std::string said_by_a_mate(int after_s, int stays_s) {
    const std::string script = fmt::format(
        "[ $PMIX_RANK = 1 ] && {{ sleep {}; exec env -u PMIX_RANK sleep 60; }};"
        "[ $PMIX_RANK = 0 ] && {{ sleep {}; kill $$; }} & exec {}",
        stays_s, after_s, rank_program("hello"));
    const auto outcome = run_under_mpirun(3, {"sh", "-c", script});
    return outcome ? outcome->errors : "";
}

void expect_said(int stays_s, const std::string& text) {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun here";
    const std::regex line("weft: rank 0: start-up: waiting for the cards of all ranks; " + text +
                          "\n");
    std::string said;
    for (int after_s = stays_s + 2; after_s < 20; after_s *= 2) {  // A busy machine starts late.
        said = said_by_a_mate(after_s, stays_s);
        if (std::regex_search(said, line)) return;
    }
    ADD_FAILURE() << said;
}

TEST(StartUp, NamesARankThatWasNeverSeen) {
    expect_said(0, "rank 1 has no process");
}

TEST(StartUp, NamesARankThatHasGone) {
    expect_said(1, "rank 1 \\(process [0-9]+\\) is gone");
}

}  // namespace
}  // namespace weft::test
