// SPDX-License-Identifier: BSD-3-Clause
// Bug: when a rank had ended before the exchange of cards, no message named it. At SIGTERM the
// other ranks only reported that they waited for the cards of all ranks. Method: a rank executes a
// program without the launcher's variables: mpirun considers the rank running, its peers consider
// it ended. A peer that gets SIGTERM must name the rank. Without the fix, both jobs' reports end
// before the name. Under srun, PMIx may instead end the wait with an error ("PARTIAL SUCCESS"), to
// which weft adds the text of StartWatch; the last test checks this text without a launcher.
#include <fmt/format.h>
#include <poll.h>

#include <regex>

#include "run/job/sigterm_report.hpp"
#include "tests/system/regress_ranks/rank_function.hpp"

namespace weft::test {
namespace {

/// Returns the errors of a job in which rank 1 seems to end after `lifetime_s` seconds, and rank 0
/// gets SIGTERM after `sigterm_s` seconds.
std::string errors_of_job(int sigterm_s, int lifetime_s) {
    const std::string script = fmt::format(
        "[ $PMIX_RANK = 1 ] && {{ sleep {}; exec env -u PMIX_RANK sleep 60; }};"
        "[ $PMIX_RANK = 0 ] && {{ sleep {}; kill $$; }} & exec {}",
        lifetime_s, sigterm_s, rank_program("hello"));
    const auto outcome = run_under_mpirun(3, {"sh", "-c", script});
    return outcome ? outcome->errors : "";
}

/// Checks that rank 0 reports `text` about the missing rank.
void expect_report(int lifetime_s, const std::string& text) {
    if (std::system("mpirun --version > /dev/null 2>&1") != 0)
        GTEST_SKIP() << "mpirun is not installed";
    const std::regex line("weft: rank 0: start-up: waiting for the cards of all ranks; " + text +
                          "\n");
    std::string errors;
    // On a busy machine rank 0 may not be in start-up yet, so the test repeats with later signals.
    for (int sigterm_s = lifetime_s + 2; sigterm_s < 20; sigterm_s *= 2) {
        errors = errors_of_job(sigterm_s, lifetime_s);
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

TEST(StartUp, AMissingRankEndsTheJobOnRequest) {
    const std::string script =
        "[ $PMIX_RANK = 1 ] && exec env -u PMIX_RANK sleep 60; exec " + rank_program("hello");
    const auto outcome =
        run_under_mpirun(2, {"sh", "-c", script}, {"WEFT_TIMEOUT=1", "WEFT_TIMEOUT_ACTION=abort"});
    if (!outcome) GTEST_SKIP() << "mpirun is not installed";
    EXPECT_EQ(outcome->status, 3);
    EXPECT_NE(outcome->errors.find("rank 1 has no process (start-up has taken"), std::string::npos)
        << outcome->errors;
}

/// Prints the missing rank of a job of two. No launcher runs: the environment claims the job.
int wait_for_peers(const Words&) {
    run::SigtermReport report;
    base::Settings settings;
    settings.timeout_ns = 0;
    run::StartWatch watch(report, 0, settings);
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
