// SPDX-License-Identifier: BSD-3-Clause
// stuck_test.cpp - reports of ranks that get SIGTERM or wait too long, and jobs whose ranks have
// different settings.
//
// Goal: a rank that gets SIGTERM reports the peer for which it waits. A wait that takes too long is
// reported, and ends the job only on request. A handler of the application is kept. Ranks with
// different settings stop the job. Method: run stuck.cpp, in which one of four ranks gets stuck;
// the reports must name this rank.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/clock.hpp"
#include "tests/system/ranks/leftovers.hpp"
#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

constexpr const char* kInApplication = "weft: rank 2: in the application, outside any weft call";

/// Returns the command of stuck.cpp with these arguments.
Words stuck(const Words& words) {
    Words program{rank_program("stuck")};
    program.insert(program.end(), words.begin(), words.end());
    return program;
}

std::size_t count_lines(const std::string& errors, const std::string& pattern) {
    return lines_like(errors, pattern).size();
}

/// Checks that rank 2 is in the application, and the others wait, at least one of them for rank 2.
void expect_reports(const std::string& errors) {
    for (const char* const rank : {"0", "1", "3"})
        EXPECT_EQ(count_lines(errors, waiting_line(rank, "[0-3]")), 1U) << rank << "\n" << errors;
    EXPECT_GE(count_lines(errors, waiting_line("[013]", "2")), 1U) << errors;
    EXPECT_EQ(count_lines(errors, kInApplication), 1U) << errors;
}

/// The parameter has the options of the layout.
class StuckTest : public testing::TestWithParam<Words> {
  protected:
    [[nodiscard]] static Words options(const Words& more) {
        Words all = GetParam();
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

INSTANTIATE_TEST_SUITE_P(Layouts, StuckTest,
                         testing::Values(Words{"-n", "4"}, Words{"-n", "4", "--nodes", "4"}),
                         [](const auto& chosen) {
                             return chosen.param.size() > 2 ? "FourNodes" : "OneNode";
                         });

TEST_P(StuckTest, ATimeoutRequestsReportsBeforeItKills) {
    const double limit_s = GetParam().size() > 2 ? 4 : 2;  // four nodes start more slowly
    const Outcome outcome =
        run_ranks(options({"--timeout", fmt::format("{}", limit_s)}), stuck({"sleep", "2", "60"}));
    EXPECT_EQ(outcome.status, 124);
    EXPECT_EQ(outcome.output, "stuck\n");
    expect_reports(outcome.errors);
    EXPECT_LT(outcome.seconds, limit_s + 2) << "the launcher must not wait after the reports";
}

TEST_P(StuckTest, ASignalToTheLauncherRequestsReports) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        RunningProgram running(weft_run(GetParam(), stuck({"sleep", "2", "60"})));
        ASSERT_TRUE(running.wait_for_output("stuck"));
        running.send(signal);
        const Outcome outcome = running.wait();
        EXPECT_EQ(outcome.status, 128 + signal);
        EXPECT_EQ(count_lines(outcome.errors, fmt::format("weft run: got signal {} .*", signal)),
                  1U);
        expect_reports(outcome.errors);
        EXPECT_TRUE(running.processes().empty());
        EXPECT_TRUE(running.files().empty());
    }
}

TEST_P(StuckTest, ALongWaitIsReportedAndTheJobContinues) {
    const Words times = long_forms() ? Words{"30", "40"} : Words{"1", "4"};
    for (const char* const mode : {"sleep", "stop"}) {
        const Outcome outcome =
            run_ranks(GetParam(), stuck({mode, "2", times[1]}), {"WEFT_TIMEOUT=" + times[0]});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(count_lines(outcome.output, "rank [0-3] has ended"), 4U) << outcome.output;
        EXPECT_GE(count_lines(outcome.errors, waiting_line("[013]", "2")), 1U) << outcome.errors;
        EXPECT_EQ(outcome.errors.find("weft run:"), std::string::npos) << outcome.errors;
    }
}

TEST_P(StuckTest, ALongWaitEndsTheJobOnRequest) {
    for (const char* const mode : {"sleep", "stop"}) {
        const Outcome outcome = run_ranks(GetParam(), stuck({mode, "2", "60"}),
                                          {"WEFT_TIMEOUT=1", "WEFT_TIMEOUT_ACTION=abort"});
        EXPECT_EQ(outcome.status, 3) << outcome.errors;
        EXPECT_EQ(count_lines(outcome.errors,
                              "weft run: rank [013] aborted the job with status 3: waited 1 s: "
                              "rank [013]: .*: waiting for rank [0-3] \\(have .*, want .*\\)"),
                  1U)
            << outcome.errors;
        EXPECT_GE(count_lines(outcome.errors, waiting_line("[013]", "2")), 1U) << outcome.errors;
        EXPECT_LT(outcome.seconds, 20);
    }
}

TEST(EndingTest, AHandlerOfTheApplicationIsKept) {
    RunningProgram running(weft_run({"-n", "4"}, stuck({"handler", "2"})));
    ASSERT_TRUE(running.wait_for_output("stuck"));
    running.send(SIGTERM);
    const Outcome outcome = running.wait();
    EXPECT_EQ(outcome.status, 128 + SIGTERM);
    EXPECT_EQ(count_lines(outcome.errors, "weft: .*"), 0U) << outcome.errors;
}

TEST(EndingTest, AFinalizedRankReportsNothing) {
    const Outcome outcome = run_ranks({"-n", "4", "--timeout", "2"}, stuck({"finalized", "2"}));
    EXPECT_EQ(outcome.status, 124);
    EXPECT_EQ(count_lines(outcome.output, "rank [013] has ended"), 3U) << outcome.output;
    EXPECT_EQ(count_lines(outcome.errors, "weft: .*"), 0U) << outcome.errors;
}

TEST(EndingTest, RanksInStartUpReportTheirWaits) {
    const std::string script = "[ $PMIX_RANK = 1 ] && exec sleep 60; exec " + rank_program("stuck");
    const Outcome outcome = run_ranks({"-n", "3", "--timeout", "2"}, {"sh", "-c", script});
    EXPECT_EQ(outcome.status, 124);
    EXPECT_EQ(count_lines(outcome.errors,
                          "weft: rank [02]: start-up: waiting for the cards of all ranks"),
              2U)
        << outcome.errors;
    EXPECT_EQ(count_lines(outcome.errors, "weft run: not in the job yet: rank 1"), 1U)
        << outcome.errors;
}

TEST(EndingTest, ASecondInterruptKillsAtOnce) {
    const std::string script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
    RunningProgram running(weft_run({"-n", "2"}, {"sh", "-c", script}));
    ASSERT_TRUE(running.wait_for_output("ready\nready\n"));
    running.send(SIGINT);
    const double interrupted_s = 1e-9 * static_cast<double>(base::monotonic_ns());
    ::poll(nullptr, 0, 100);  // a second signal while the first is pending would be lost
    running.send(SIGINT);
    EXPECT_EQ(running.wait().status, 128 + SIGINT);
    EXPECT_LT(1e-9 * static_cast<double>(base::monotonic_ns()) - interrupted_s, 1.9)
        << "a single signal gives ranks two seconds";
}

// After its SIGTERM, mpirun sends SIGKILL as soon as the first rank has ended. A rank that has had
// no processor by then reports nothing, so the test collects the lines of several launches. Open
// MPI 5 also drops the output of the ranks, so the test reads the lines from log files.
TEST(EndingTest, RanksUnderMpirunReportTheirWaits) {
    if (std::system("command -v mpirun.openmpi >/dev/null") != 0)
        GTEST_SKIP() << "Open MPI's mpirun is not installed";
    Words command{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "4"};
    for (const std::string& word : stuck({"sleep", "2", "60"})) command.push_back(word);
    const auto log = [](const std::string& rank) {
        return fmt::format("{}final_report.{}.{}", testing::TempDir(), ::getpid(), rank);
    };
    std::string reported;
    const auto has_line = [&](const std::string& line) { return count_lines(reported, line) > 0; };
    const auto has_all = [&] {
        return has_line(waiting_line("[013]", "2")) && has_line(kInApplication);
    };
    for (int launch = 0; launch < 8 && !has_all(); ++launch) {
        RunningProgram running(command, {"WEFT_LOG=info", "WEFT_LOG_FILE=" + log("%r")},
                               launch_deadline_s());
        ASSERT_TRUE(running.wait_for_output("stuck"));
        running.send(SIGTERM);
        const Outcome outcome = running.wait();
        EXPECT_NE(outcome.status, 0);
        EXPECT_TRUE(running.nothing_left());
        for (int rank = 0; rank < 4; ++rank) {
            std::ifstream file(log(std::to_string(rank)));
            reported.append(std::istreambuf_iterator<char>(file), {});
            ::unlink(log(std::to_string(rank)).c_str());
        }
    }
    EXPECT_TRUE(has_all()) << reported;
}

/// A setting that differs between ranks.
struct Difference {
    std::string name;
    std::string setting;  ///< variable that only the last of three ranks has
    std::string message;  ///< pattern of the end of the message
};

class DifferentSettingsTest : public testing::TestWithParam<Difference> {};

TEST_P(DifferentSettingsTest, TheJobStopsAndNamesBothRanksAndValues) {
    const std::set<std::string> before = shared_files();
    const std::string script = fmt::format("[ $PMIX_RANK = 2 ] && export {}; exec {}",
                                           GetParam().setting, rank_program("stuck"));
    for (const Words& options : {Words{"-n", "3"}, Words{"-n", "3", "--nodes", "3"}}) {
        const Outcome outcome = run_ranks(options, {"sh", "-c", script});
        EXPECT_EQ(outcome.status, 3) << outcome.errors;
        EXPECT_LT(outcome.seconds, 10);
        const std::regex message(
            "settings differ between rank ([0-2]) \\(here\\) and rank "
            "([0-2]) \\(there\\): " +
            GetParam().message);
        std::smatch found;
        ASSERT_TRUE(std::regex_search(outcome.errors, found, message)) << outcome.errors;
        EXPECT_NE(found[1] == "2", found[2] == "2") << found[0];
    }
    EXPECT_EQ(new_shared_files(before), std::set<std::string>{});
}

// A job is refused if only some of its ranks have WEFT_NODE_ID.
TEST(DifferentNodesTest, TheJobStopsAndNamesBothRanks) {
    const auto run_with = [](const Words& options, const std::string& setting) {
        return run_ranks(options, {"sh", "-c",
                                   fmt::format("[ $PMIX_RANK = 2 ] && export {}; exec {}", setting,
                                               rank_program("stuck"))});
    };
    for (const Outcome& outcome : {run_with({"-n", "3"}, "WEFT_NODE_ID=1"),
                                   run_with({"-n", "3", "--nodes", "3"}, "WEFT_NODE_ID=")}) {
        EXPECT_EQ(outcome.status, 3) << outcome.errors;
        EXPECT_TRUE(std::regex_search(
            outcome.errors,
            std::regex("settings differ between rank [0-2] \\(here\\) and rank [0-2] \\(there\\): "
                       "WEFT_NODE_ID is (\"given\" here and not set|not set here and \"given\") "
                       "there")))
            << outcome.errors;
    }
}

// A process without capabilities may not read one with capabilities, and so cannot map its memory.
TEST(DifferentMappingsTest, TheJobStopsAndNamesBothRanks) {
    if (::geteuid() != 0 || std::system("command -v setpriv >/dev/null") != 0)
        GTEST_SKIP() << "needs root and setpriv";
    const std::string program = rank_program("stuck");
    const Outcome outcome = run_ranks(
        {"-n", "3"}, {"sh", "-c",
                      fmt::format("[ $PMIX_RANK = 2 ] && exec setpriv --bounding-set=-all "
                                  "--inh-caps=-all {}; exec {}",
                                  program, program)});
    EXPECT_EQ(outcome.status, 3) << outcome.errors;
    EXPECT_LT(outcome.seconds, 10);
    EXPECT_TRUE(std::regex_search(
        outcome.errors,
        std::regex("ranks [0-2] and [0-2] are on one node by their cards, but not all of its ranks "
                   "could map each other: rank [0-2] could map ranks [0-2 ]+, rank [0-2] could map "
                   "ranks [0-2 ]+")))
        << outcome.errors;
}

const Difference kDifferences[] = {
    {"Banks", "WEFT_BANKS=64",
     R"re(WEFT_BANKS is "(64" here and "512|512" here and "64)" there)re"},
    {"Algorithm", "WEFT_ALLREDUCE=a3",
     R"re(WEFT_ALLREDUCE is ("a3" here and not set|not set here and "a3") there)re"},
};

INSTANTIATE_TEST_SUITE_P(Settings, DifferentSettingsTest, testing::ValuesIn(kDifferences),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace weft::test
