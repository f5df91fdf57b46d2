// SPDX-License-Identifier: BSD-3-Clause
// Goal: the C and the C++ interface do what their headers say on real ranks, refuse what cannot be
// done, and leave nothing behind. Method: launch the programs of this folder over several layouts.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "lab/program/json.hpp"
#include "tests/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

class LibraryTest : public testing::TestWithParam<Launch> {};

/// What rank 0 prints in the end; empty: nothing.
void check_program(const Launch& launch, const std::string& program, const std::string& says) {
    const Outcome outcome = run_ranks(launch.options, {rank_program(program)},
                                      {"TEST_NODES=" + std::to_string(launch.nodes)});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.output,
              says.empty() ? "" : std::to_string(launch.ranks) + " ranks: " + says + "\n");
}

TEST_P(LibraryTest, TypesRequestsTeamsAndMemoryOfTheCInterfaceAreRight) {
    check_program(GetParam(), "calls", "all calls are right");
}
TEST_P(LibraryTest, CollectivesOfTheCInterfaceAreRightInAllForms) {
    check_program(GetParam(), "c_collectives", "all collectives are right");
}
TEST_P(LibraryTest, OneSidedCallsOfTheCInterfaceAreRight) {
    check_program(GetParam(), "one_sided", "all one-sided calls are right");
}
TEST_P(LibraryTest, TheCInterfaceRefusesWhatCannotBeDone) {
    check_program(GetParam(), "refusals", "");
}
TEST_P(LibraryTest, TheCppInterfaceRefusesWhatCannotBeDone) {
    check_program(GetParam(), "bad_arguments", "");
}
TEST_P(LibraryTest, OwnersFreeAndStaleHandlesAreRefused) {
    check_program(GetParam(), "owners", "");
}

INSTANTIATE_TEST_SUITE_P(Layouts, LibraryTest,
                         testing::Values(launch_of(1, 1), launch_of(2, 1), launch_of(3, 1),
                                         launch_of(3, 3), launch_of(5, 2)),
                         [](const auto& chosen) { return chosen.param.name; });

/// What programs do with their memory, whichever way node-mates get at it.
class DirectTest : public testing::TestWithParam<std::string> {};

TEST_P(DirectTest, BuffersStayAsPrivateAsTheyWere) {
    for (const char* ranks : {"2", "3"}) {
        const Outcome outcome =
            run_ranks({"-n", ranks}, {rank_program("direct_abuse")}, {"WEFT_DIRECT=" + GetParam()});
        EXPECT_EQ(outcome.status, 0);
        EXPECT_EQ(outcome.errors, "");
        EXPECT_EQ(outcome.output,
                  std::string(ranks) + " ranks: buffers are as private as before\n");
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, DirectTest, testing::Values("auto", "adopt", "copy", "stage"),
                         [](const auto& chosen) { return chosen.param; });

/// Bytes that can be had without driving anything else out.
std::uint64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::uint64_t kib = 0;
    while (file >> name >> kib) {
        if (name == "MemAvailable:") return kib * 1024;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return 0;
}

class GiantsTest : public testing::TestWithParam<Launch> {
  protected:
    static void check(std::uint64_t broadcast_bytes, std::uint64_t block_bytes) {
        const std::string broadcast = std::to_string(broadcast_bytes);
        const std::string block = std::to_string(block_bytes);
        const Outcome outcome =
            run_ranks(GetParam().options, {rank_program("giants"), broadcast, block});
        EXPECT_EQ(outcome.status, 0);
        EXPECT_EQ(outcome.errors, "");
        EXPECT_EQ(outcome.output, std::to_string(GetParam().ranks) + " ranks: giants are right\n");
    }
};

TEST_P(GiantsTest, SmallOnesAreRight) {
    check((3U << 20) + 5, (2U << 20) + 17);
}

TEST_P(GiantsTest, AreRight) {
    if (!long_forms()) GTEST_SKIP() << "only in the long form";
    constexpr std::uint64_t kBroadcastBytes = std::uint64_t{3} << 30;
    const std::uint64_t needed =
        static_cast<std::uint64_t>(GetParam().ranks) * kBroadcastBytes + (std::uint64_t{1} << 30);
    if (available_bytes() < needed)
        GTEST_SKIP() << available_bytes() << " bytes of memory, " << needed << " are needed";
    check(kBroadcastBytes, (std::uint64_t{1} << 31) + 17);
}

INSTANTIATE_TEST_SUITE_P(Layouts, GiantsTest,
                         testing::Values(launch_of(1, 1), launch_of(2, 1), launch_of(2, 2)),
                         [](const auto& chosen) { return chosen.param.name; });

TEST(CallersJobTest, RanksThatMeetByTheirCallerStartOrAllLearnWhyNot) {
    const Outcome outcome = run_command({rank_program("callers_job")});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.output, "4 ranks: teams of members alone come and go\n");
}

class FreedTest : public testing::TestWithParam<const char*> {};

TEST_P(FreedTest, PutsUnderWayDoNotReachWhatIsAllocatedNext) {
    const Outcome outcome =
        run_ranks({"-n", "3", "--nodes", "3"}, {rank_program("freed"), GetParam()},
                  {"WEFT_ALLREDUCE=reduce-broadcast:tree=(kary:k=2)", "WEFT_BARRIER=central"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
}

INSTANTIATE_TEST_SUITE_P(Ways, FreedTest,
                         testing::Values("free", "release", "destructor", "team",
                                         "team_destructor"),
                         [](const auto& chosen) { return std::string(chosen.param); });

void check_trees(const Launch& launch) {
    const Outcome outcome =
        run_ranks(launch.options, {rank_program("team_trees"), long_forms() ? "60" : "6", "400"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, "");
    const auto report = lab::read_json(outcome.output);
    EXPECT_GT(report.at("teams_max"), 20);
    EXPECT_GT(report.at("refusals"), 0) << "the table of teams was never full";
    EXPECT_GT(report.at("calls"), 500);
}

TEST(TeamTreesTest, RandomTreesAgreeWithASerialModel) {
    check_trees(launch_of(4, 1));
}
TEST(TeamTreesTest, RandomTreesAgreeWithASerialModelOverNodes) {
    check_trees(launch_of(6, 3));
}

/// The address sanitizer's heap keeps what is freed for a while; it looks for leaks itself.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHeapTells = false;
#else
constexpr bool kHeapTells = true;
#endif

TEST(TeamLeaksTest, SplitsAndFreesLeaveNothingBehind) {
    if (!kHeapTells) GTEST_SKIP() << "not with this heap";
    const char* const rounds = long_forms() ? "10000" : "500";
    for (const Launch& launch : {launch_of(3, 1), launch_of(4, 2)}) {
        // libfabric's ofi_rxm has a completion ring for 256 processes (12 MiB), touched once in
        // turn.
        const Outcome outcome =
            run_ranks(launch.options, {rank_program("team_leaks"), rounds}, {"FI_UNIVERSE_SIZE=4"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        printf("%s", outcome.output.c_str());
    }
}

/// The negative control: a hundred bytes for each round are noticed.
TEST(TeamLeaksTest, ALeakIsNoticed) {
    if (!kHeapTells) GTEST_SKIP() << "not with this heap";
    const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("team_leaks"), "500", "--leak"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.errors.find("heap grew by"), std::string::npos) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
