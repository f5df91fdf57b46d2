// SPDX-License-Identifier: BSD-3-Clause
// bootstrap_test.cpp - programs that join a job without the launcher of weft.
//
// Goal: without a launcher, a program is a job of one rank. Under a foreign launcher with PMIx, the
// ranks form one job. Under a launcher without PMIx, ranks refuse to start as N jobs of one rank.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/support/run_program.hpp"

namespace weft::test {
namespace {

TEST(Bootstrap, AProgramWithoutALauncherIsAJobOfOneRank) {
    RunningProgram running({CLIENT_PROGRAM, "cards"});
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, "rank 0 of 1 has all cards\n");
}

TEST(Bootstrap, AbortEndsAJobOfOneRankWithItsStatus) {
    RunningProgram running({CLIENT_PROGRAM, "abort", "0", "42"});
    const Outcome outcome = running.wait();
    expect_end(outcome, 42, "the test wants it");
}

TEST(Bootstrap, LauncherWithoutPmixIsRefused) {
    for (const char* const setting : {"PMI_SIZE=4", "SLURM_STEP_NUM_TASKS=4"}) {
        RunningProgram running({CLIENT_PROGRAM, "cards"}, {setting});
        const Outcome outcome = running.wait();
        EXPECT_EQ(outcome.status, 91);
        EXPECT_NE(outcome.errors.find("does not offer PMIx (" + std::string(setting)),
                  std::string::npos)
            << outcome.errors;
    }
}

TEST(Bootstrap, AnUnreachableServerIsReported) {
    RunningProgram running({CLIENT_PROGRAM, "cards"}, {"PMIX_NAMESPACE=gone", "PMIX_RANK=0"});
    const Outcome outcome = running.wait();
    expect_end(outcome, 91, "client: PMIx: joining the job failed");
}

class ForeignLauncher : public testing::Test {
  protected:
    void SetUp() override {
        RunningProgram version({"mpirun", "--version"});
        if (version.wait().output.find("Open MPI") == std::string::npos) {
            GTEST_SKIP() << "Open MPI's mpirun is not installed";
        }
    }
    static RunningProgram mpirun(int ranks, const std::vector<std::string>& words) {
        std::vector<std::string> command = {"mpirun", "--allow-run-as-root", "--oversubscribe",
                                            "-np",    std::to_string(ranks), CLIENT_PROGRAM};
        command.insert(command.end(), words.begin(), words.end());
        return RunningProgram(command);
    }
};

TEST_F(ForeignLauncher, RanksExchangeCards) {
    RunningProgram running = mpirun(5, {"cards"});
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    for (int rank = 0; rank < 5; ++rank) {
        EXPECT_NE(outcome.output.find(fmt::format("rank {} of 5 has all cards", rank)),
                  std::string::npos);
    }
}

/// Returns true if the launcher itself has failed, which is no error of weft. Rarely, when a rank
/// aborts, the PMIx server of Open MPI 4.1.4 and 5.0.7 has a segmentation fault or waits forever
/// for its own thread (PMIx_server_finalize); then all ranks have ended.
bool launcher_failed(const RunningProgram& running, const Outcome& outcome) {
    const auto has_text = [&](const char* text) {
        return outcome.errors.find(text) != std::string::npos;
    };
    if (outcome.status == -1) return running.processes().size() == 1;
    return outcome.status == 128 + SIGSEGV &&
           (has_text("calling\n\"abort\"") || has_text("PMIx_server_finalize"));
}

TEST_F(ForeignLauncher, AbortEndsTheJobWithItsStatus) {
    constexpr int kAttempts = 3;
    for (int attempt = 1; attempt <= kAttempts; ++attempt) {
        RunningProgram running = mpirun(3, {"abort", "1", "42"});
        const Outcome outcome = running.wait();
        if (attempt < kAttempts && launcher_failed(running, outcome)) continue;
        EXPECT_EQ(outcome.status, 42) << outcome.errors;
        return;
    }
}

}  // namespace
}  // namespace weft::test
