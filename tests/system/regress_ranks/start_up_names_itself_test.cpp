// SPDX-License-Identifier: BSD-3-Clause
// Bug: when a rank had ended before the exchange of cards, Open MPI's mpirun printed a part of a
// message without the rank. At SIGTERM the other ranks only reported that they wait for the cards
// of all ranks. Method: a rank removes the launcher's variables, so that mpirun considers it
// running, and its peers consider it ended. A peer that gets SIGTERM must name it; without the fix
// it does not. Under srun PMIx may end the wait with "PARTIAL SUCCESS (another rank, or the
// launcher, has gone)"; the last test checks the text that StartWatch adds to it.
#include <fmt/format.h>
#include <poll.h>

#include <regex>

#include "run/job/sigterm_report.hpp"
#include "tests/system/regress_ranks/rank_function.hpp"

namespace weft::test {
namespace {

/// Returns the errors of a job in which rank 1 runs for `stays_s` seconds, and rank 0 gets SIGTERM
/// after `after_s` seconds.
std::string errors_of_job(int after_s, int stays_s) {
    const std::string script = fmt::format(
        "[ $PMIX_RANK = 1 ] && {{ sleep {}; exec env -u PMIX_RANK sleep 60; }};"
        "[ $PMIX_RANK = 0 ] && {{ sleep {}; kill $$; }} & exec {}",
        stays_s, after_s, rank_program("hello"));
    const auto outcome = run_under_mpirun(3, {"sh", "-c", script});
    return outcome ? outcome->errors : "";
}

void expect_report(int stays_s, const std::string& text) {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0)
        GTEST_SKIP() << "mpirun is not installed";
    const std::regex line("weft: rank 0: start-up: waiting for the cards of all ranks; " + text +
                          "\n");
    std::string errors;
    for (int after_s = stays_s + 2; after_s < 20; after_s *= 2) {  // a busy machine starts late
        errors = errors_of_job(after_s, stays_s);
        if (std::regex_search(errors, line)) return;
    }
    ADD_FAILURE() << errors;
}

TEST(StartUp, ARankThatNeverStartedIsNamed) {
    expect_report(0, "rank 1 has no process");
}

TEST(StartUp, AnExitedRankIsNamed) {
    expect_report(1, "rank 1 \\(process [0-9]+\\) is gone");
}

int wait_for_peers(const Words&) {
    run::SigtermReport report;
    run::StartWatch watch(report, 0);
    std::string missing;
    for (int attempt = 0; attempt < 200 && missing.empty(); ++attempt) {
        ::poll(nullptr, 0, 50);
        missing = watch.missing();
    }
    fmt::print("{}\n", missing);
    return 0;
}
const RankFunction kWaitForPeers("wait_for_peers", wait_for_peers);

TEST(StartUp, TheMissingRankIsNamedIfStartUpFails) {
    const Outcome outcome =
        run_command({RANK_PROGRAMS "/weft_regress_ranks_test", "--rank", "wait_for_peers"},
                    {"PMIX_NAMESPACE=a job of two", "PMIX_RANK=0", "OMPI_COMM_WORLD_SIZE=2",
                     "OMPI_COMM_WORLD_LOCAL_SIZE=2"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, "rank 1 has no process\n");
}

}  // namespace
}  // namespace weft::test
