// SPDX-License-Identifier: BSD-3-Clause
// sigterm_report_test.cpp - tests of the handler of SIGTERM without a job.
//
// Goal: on SIGTERM each runtime of a process reports its state, and the last report ends the
// process by the signal. Handlers of the application are kept. Method: death tests make
// SigtermReport objects and call the functions that a runtime calls.
#include "run/job/sigterm_report.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace weft::test {
namespace {

using run::SigtermReport;

/// Returns the present action for SIGTERM.
struct sigaction disposition() {
    struct sigaction found = {};
    ::sigaction(SIGTERM, nullptr, &found);
    return found;
}

/// Waits until the handler requests a report, as an engine in a call does.
void wait_for_request(SigtermReport& report) {
    while (!report.status_request().pending.exchange(false)) ::poll(nullptr, 0, 1);
}

TEST(SigtermReportDeathTest, AProcessOutsideCallsReportsAndDiesAtOnce) {
    const auto die = [] {
        SigtermReport report;
        report.set_rank(307);
        ::raise(SIGTERM);
        ::_exit(1);
    };
    EXPECT_EXIT(die(), testing::KilledBySignal(SIGTERM),
                "^weft: rank 307: in the application, outside any weft call\n$");
}

TEST(SigtermReportDeathTest, TheHandlerReportsTheStage) {
    const auto die = [] {
        SigtermReport report;
        report.set_rank(0);
        report.set_stage("start-up: waiting for the others");
        ::raise(SIGTERM);
        ::_exit(1);
    };
    EXPECT_EXIT(die(), testing::KilledBySignal(SIGTERM),
                "^weft: rank 0: start-up: waiting for the others\n$");
}

TEST(SigtermReportDeathTest, TheHandlerReportsTheLastDetailOfAStage) {
    const auto die = [](const std::vector<std::string>& details) {
        SigtermReport report;
        report.set_rank(0);
        report.set_stage("start-up");
        for (const std::string& detail : details) report.set_detail(detail);
        ::raise(SIGTERM);
        ::_exit(1);
    };
    EXPECT_EXIT(die({"one", "two", "three"}), testing::KilledBySignal(SIGTERM),
                "^weft: rank 0: start-up; three\n$");
    EXPECT_EXIT(die({"one", ""}), testing::KilledBySignal(SIGTERM), "^weft: rank 0: start-up\n$");
    EXPECT_EXIT(die({std::string(1000, 'x')}), testing::KilledBySignal(SIGTERM),
                "^weft: rank 0: start-up; x+\n$");
}

TEST(SigtermReportDeathTest, ACallReportsAndThenTheProcessDies) {
    const auto die = [] {
        SigtermReport report;
        report.status_request().enter();
        ::raise(SIGTERM);
        wait_for_request(report);
        report.answer("weft: rank 3: report of the engine");
        ::_exit(1);
    };
    EXPECT_EXIT(die(), testing::KilledBySignal(SIGTERM), "^weft: rank 3: report of the engine\n$");
}

// The file gets the line of the handler, or of the engine if the process is in a call.
TEST(SigtermReportDeathTest, TheLogFileGetsTheReport) {
    const std::string name = testing::TempDir() + "final_report." + std::to_string(::getpid());
    const auto die = [&](bool in_call) {
        const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        SigtermReport report;
        report.set_rank(4);
        report.set_file(file);
        ::close(file);
        if (in_call) report.status_request().enter();
        ::raise(SIGTERM);
        wait_for_request(report);
        report.answer("weft: rank 4: report of the engine");
        ::_exit(1);
    };
    const auto contents = [&] {
        std::ifstream file(name);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EXIT(die(false), testing::KilledBySignal(SIGTERM), "in the application");
    EXPECT_EQ(contents(), "weft: rank 4: in the application, outside any weft call\n");
    EXPECT_EXIT(die(true), testing::KilledBySignal(SIGTERM), "report of the engine");
    EXPECT_EQ(contents(), "weft: rank 4: report of the engine\n");
    ::unlink(name.c_str());
}

TEST(SigtermReportDeathTest, TheEndOfTheOuterCallReturnsTheRequest) {
    const auto die = [] {
        SigtermReport report;
        report.status_request().enter();
        report.status_request().enter();
        ::raise(SIGTERM);
        // leave() returns true if a report is requested and no outer call is left.
        if (report.status_request().leave()) ::_exit(1);
        if (!report.status_request().leave()) ::_exit(2);
        report.answer("left");
    };
    EXPECT_EXIT(die(), testing::KilledBySignal(SIGTERM), "^left\n$");
}

TEST(SigtermReportDeathTest, AllWaitingRuntimesReport) {
    const auto die = [] {
        SigtermReport first;
        SigtermReport second;
        SigtermReport third;
        first.set_rank(1);
        first.set_stage("in a stage");
        second.status_request().enter();
        third.status_request().enter();
        ::raise(SIGTERM);
        wait_for_request(second);
        second.answer("second");
        wait_for_request(third);
        third.answer("third");
        ::_exit(1);
    };
    EXPECT_EXIT(die(), testing::KilledBySignal(SIGTERM),
                "^weft: rank 1: in a stage\nsecond\nthird\n$");
}

// Within a second, a repeated signal has no effect.
TEST(SigtermReportDeathTest, ARepeatedSignalKillsAfterASecond) {
    const auto die = [] {
        SigtermReport report;
        report.status_request().enter();
        ::raise(SIGTERM);
        ::raise(SIGTERM);
        base::write_line("still runs");
        ::poll(nullptr, 0, 1100);
        ::raise(SIGTERM);
        ::_exit(1);
    };
    EXPECT_EXIT(die(), testing::KilledBySignal(SIGTERM), "^still runs\n$");
}

TEST(SigtermReportDeathTest, AForkedChildDiesWithoutAReport) {
    const auto die = [] {
        SigtermReport report;
        const pid_t child = ::fork();
        if (child == 0) {
            ::raise(SIGTERM);
            ::_exit(1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        ::_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 2);
    };
    EXPECT_EXIT(die(), testing::ExitedWithCode(0), "^$");
}

TEST(SigtermReport, TheLastRuntimeRemovesTheHandler) {
    ASSERT_EQ(disposition().sa_handler, SIG_DFL);
    {
        const SigtermReport first;
        EXPECT_NE(disposition().sa_handler, SIG_DFL);
        {
            SigtermReport second;
            second.retire();
        }
        EXPECT_NE(disposition().sa_handler, SIG_DFL);
    }
    EXPECT_EQ(disposition().sa_handler, SIG_DFL);
}

TEST(SigtermReport, AHandlerOfTheApplicationIsKept) {
    const auto own = [](int) {};
    for (const bool early : {true, false}) {
        if (early) ::signal(SIGTERM, own);
        {
            const SigtermReport report;
            if (!early) ::signal(SIGTERM, own);
            EXPECT_EQ(disposition().sa_handler, +own);
        }
        EXPECT_EQ(disposition().sa_handler, +own);
        ::signal(SIGTERM, SIG_DFL);
    }
    ::signal(SIGTERM, SIG_IGN);
    {
        const SigtermReport report;
        EXPECT_EQ(disposition().sa_handler, SIG_IGN);
    }
    ::signal(SIGTERM, SIG_DFL);
}

// The handler has entries for 16 runtimes.
TEST(SigtermReport, MoreRuntimesThanEntriesAreHarmless) {
    std::vector<std::unique_ptr<SigtermReport>> many;
    for (int i = 0; i < 40; ++i) {
        many.push_back(std::make_unique<SigtermReport>());
        many.back()->set_stage("one of many");
        many.back()->status_request().enter();
        EXPECT_FALSE(many.back()->status_request().leave());
    }
    many.clear();
    EXPECT_EQ(disposition().sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace weft::test
