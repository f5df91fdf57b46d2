// SPDX-License-Identifier: BSD-3-Clause
// Goal: the C and C++ interfaces work as documented, refuse invalid calls and free all resources.
// Method: run the programs of this folder as jobs with several layouts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

class LibraryTest : public testing::TestWithParam<Launch> {};

/// Checks that a job succeeded and printed exactly this.
void expect_success(const Outcome& outcome, const std::string& output) {
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.output, output);
}

/// Runs a program and checks that rank 0 prints `success` at its end, or nothing if `success` is
/// empty. The program may read the number of nodes from TEST_NODES.
void check_program(const Launch& launch, const std::string& program, const std::string& success) {
    const Outcome outcome = run_ranks(launch.options, {rank_program(program)},
                                      {"TEST_NODES=" + std::to_string(launch.nodes)});
    expect_success(
        outcome, success.empty() ? "" : std::to_string(launch.ranks) + " ranks: " + success + "\n");
}

TEST_P(LibraryTest, CTypesRequestsTeamsAndMemoryAreRight) {
    check_program(GetParam(), "calls", "all calls are right");
}
TEST_P(LibraryTest, CCollectivesAreRightInAllForms) {
    check_program(GetParam(), "c_collectives", "all collectives are right");
}
TEST_P(LibraryTest, COneSidedCallsAreRight) {
    check_program(GetParam(), "one_sided", "all one-sided calls are right");
}
TEST_P(LibraryTest, AtomicsStridesContextsAndLocksAreRight) {
    check_program(GetParam(), "words", "all words are right");
}
TEST_P(LibraryTest, GridsStartedPutsAndSumsAreRight) {
    check_program(GetParam(), "grids", "all grids are right");
}
TEST_P(LibraryTest, SymmetricArraysAndFuturesAreRight) {
    check_program(GetParam(), "symmetric", "all arrays are right");
}
TEST_P(LibraryTest, AllMembersReachRegisteredMemory) {
    check_program(GetParam(), "registered", "all registered memory is right");
}
TEST_P(LibraryTest, ActiveMessagesAndLocalViewsAreRight) {
    check_program(GetParam(), "messages", "all messages are right");
}
TEST_P(LibraryTest, ThreadsMayCallConcurrently) {
    check_program(GetParam(), "threads", "all threads are right");
}
TEST_P(LibraryTest, OpenMpThreadsHaveTeamsAndPutWithoutALock) {
    if (!std::filesystem::exists(rank_program("openmp"))) GTEST_SKIP() << "built without OpenMP";
    check_program(GetParam(), "openmp", "all OpenMP threads are right");
}
TEST_P(LibraryTest, RemoteFunctionsReturnTheirResults) {
    check_program(GetParam(), "rpc", "all functions are right");
}
TEST_P(LibraryTest, TheCInterfaceRefusesInvalidCalls) {
    check_program(GetParam(), "refusals", "");
}
TEST_P(LibraryTest, CountsThatOverflowAreRefused) {
    check_program(GetParam(), "wrapping_counts", "all counts that wrap are refused");
}
TEST_P(LibraryTest, TheCppInterfaceRefusesInvalidCalls) {
    check_program(GetParam(), "bad_arguments", "");
}
TEST_P(LibraryTest, OwningHandlesFreeTheirObjectsAndStaleHandlesAreRefused) {
    check_program(GetParam(), "owners", "");
}
TEST_P(LibraryTest, NeighborsReceiveTheirBlocks) {
    check_program(GetParam(), "neighbors", "all neighbors are right");
    check_program(GetParam(), "neighbors_c", "all neighbors are right");
}

/// Runs the program with 1 to 9 ranks, on a node and on virtual nodes, with several algorithms.
TEST(ExactSumsTest, HaveTheBitsOfTheReferenceForEveryNumberOfRanks) {
    const std::vector<Words> algorithms = {{},
                                           {"WEFT_ALLREDUCE=ring", "WEFT_SCAN=linear"},
                                           {"WEFT_ALLREDUCE=double-tree"},
                                           {"WEFT_DIRECT=stage"}};
    for (int ranks = 1; ranks <= 9; ++ranks) {
        const Launch launch = launch_of(ranks, ranks % 3 == 0 ? 3 : 1);
        const std::string elements = long_forms() ? "1000000" : "3000";
        SCOPED_TRACE(launch.name);
        const Outcome outcome =
            run_ranks(launch.options, {rank_program("exact_sums"), elements},
                      algorithms[static_cast<std::size_t>(ranks) % algorithms.size()]);
        expect_success(outcome, std::to_string(ranks) + " ranks: all exact sums are right\n");
    }
}

/// Eight ranks form a grid of three dimensions with more than one rank in each.
TEST(NeighborsTest, GridsOfThreeDimensionsAreRight) {
    check_program(launch_of(8, 2), "neighbors", "all neighbors are right");
}

INSTANTIATE_TEST_SUITE_P(Layouts, LibraryTest,
                         testing::Values(launch_of(1, 1), launch_of(2, 1), launch_of(3, 1),
                                         launch_of(3, 3), launch_of(5, 2)),
                         [](const auto& chosen) { return chosen.param.name; });

/// Tests settings that change how transfers to registered memory are made or detected.
TEST(RegisteredTest, AllMembersReachMemoryWithEachSetting) {
    for (const char* setting : {"WEFT_DIRECT=stage", "WEFT_DIRECT=copy", "WEFT_PROGRESS=thread",
                                "WEFT_THREADS=multiple", "WEFT_NOTIFY=delivery"}) {
        SCOPED_TRACE(setting);
        const Launch launch = launch_of(4, 2);
        const Outcome outcome = run_ranks(launch.options, {rank_program("registered")}, {setting});
        expect_success(outcome, "4 ranks: all registered memory is right\n");
    }
}

/// Negative control: with the argument `plant` a put changes half of the last word, which the
/// program expects to be 0.
TEST(RegisteredTest, AnUnexpectedPutIsDetected) {
    const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("registered"), "plant"});
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.errors.find("last == 0"), std::string::npos) << outcome.errors;
}

TEST(TrafficTest, RandomTrafficAgreesWithASerialModel) {
    const std::string operations = long_forms() ? "1000000" : "6000";
    unsigned seed = 1;
    for (const Launch& launch : {launch_of(2, 1), launch_of(3, 1), launch_of(4, 2)}) {
        SCOPED_TRACE(launch.name);
        const Outcome outcome = run_ranks(
            launch.options, {rank_program("traffic"), operations, std::to_string(seed++)});
        expect_success(outcome,
                       fmt::format("{} ranks: all memory agrees with the model\n", launch.ranks));
    }
}

/// Negative control: one value differs from the model.
TEST(TrafficTest, AWrongValueIsDetected) {
    for (const auto& [plant, error] :
         {std::pair("word", ": words: differs"), std::pair("message", ": requests: differs")}) {
        const Outcome outcome =
            run_ranks({"-n", "2"}, {rank_program("traffic"), "2000", "1", plant});
        EXPECT_NE(outcome.status, 0);
        EXPECT_NE(outcome.errors.find(error), std::string::npos) << outcome.errors;
    }
}

/// Ranks that wait for a second compare their calls. Shorter waits of a call must add up to it.
TEST(ShortWaitsTest, RanksWithDifferentCountsAreReported) {
    const Outcome outcome =
        run_ranks({"-n", "3", "--timeout", "20"}, {rank_program("short_waits")});
    constexpr int kRefused = 40;  // a wait failed with WEFT_ERR_ARGUMENT
    EXPECT_EQ(outcome.status, kRefused) << outcome.errors;
    EXPECT_NE(outcome.errors.find("caught: "), std::string::npos) << outcome.errors;
    EXPECT_NE(outcome.errors.find("ranks disagree about call"), std::string::npos)
        << outcome.errors;
}

/// With an argument, the last rank of weft_words calls weft_abort() with this status.
TEST(AbortTest, AbortEndsTheJobWithItsStatus) {
    const Outcome outcome = run_ranks({"-n", "3", "--nodes", "2"}, {rank_program("words"), "7"});
    EXPECT_EQ(outcome.status, 7);
    EXPECT_NE(outcome.errors.find("rank 2 has called weft_abort with status 7"), std::string::npos)
        << outcome.errors;
}

/// Tests each method by which local peers access buffers (WEFT_DIRECT).
class DirectTest : public testing::TestWithParam<std::string> {};

TEST_P(DirectTest, BuffersBehaveAsPrivateMemory) {
    for (const char* ranks : {"2", "3"}) {
        const Outcome outcome =
            run_ranks({"-n", ranks}, {rank_program("direct_abuse")}, {"WEFT_DIRECT=" + GetParam()});
        expect_success(outcome, std::string(ranks) + " ranks: buffers behave as private memory\n");
    }
}

TEST_P(DirectTest, BuffersBehaveAsPrivateMemoryUnderMpirun) {
    if ((GetParam() == "copy" || GetParam() == "stage") && !long_forms())
        GTEST_SKIP() << "only in the long form, because weft run covers this method";
    const auto outcome =
        run_under_mpirun(3, {rank_program("direct_abuse")}, {"WEFT_DIRECT=" + GetParam()});
    if (!outcome) GTEST_SKIP() << "mpirun is not installed";
    EXPECT_EQ(outcome->status, 0) << outcome->errors;
    EXPECT_EQ(outcome->output, "3 ranks: buffers behave as private memory\n");
}

INSTANTIATE_TEST_SUITE_P(Methods, DirectTest, testing::Values("auto", "adopt", "copy", "stage"),
                         [](const auto& chosen) { return chosen.param; });

/// The peers enter after the root has returned, so they must read copies of its buffers. If they
/// read the buffers in place, the root would wait for them, and the job would end after 20 s.
TEST(RootTest, ARootWhoseDataIsCopiedContinuesBeforeItsPeersEnter) {
    for (const char* ranks : {"4", "8"}) {
        const Outcome outcome =
            run_ranks({"-n", ranks}, {rank_program("roots_continue")},
                      {"WEFT_BROADCAST=mapped", "WEFT_TIMEOUT=20", "WEFT_TIMEOUT_ACTION=abort"});
        expect_success(outcome, std::string(ranks) + " ranks: the root continued\n");
    }
}

/// A facility that the kernel refuses, and its consequences.
struct Forbidden {
    const char* what;      ///< argument of weft_forbid
    const char* log_line;  ///< part of the log line that names the method used instead
    const char* reason;    ///< part of the output of `weft info`
};

class ForbiddenTest : public testing::TestWithParam<Forbidden> {};

TEST_P(ForbiddenTest, TheNextTransferMethodIsUsedAndReported) {
    const auto [what, log_line, reason] = GetParam();
    const Outcome abuse =
        run_ranks({"-n", "2"}, {rank_program("forbid"), what, rank_program("direct_abuse")},
                  {"WEFT_LOG=info", "WEFT_DIRECT=auto"});
    EXPECT_EQ(abuse.status, 0) << abuse.errors;
    EXPECT_EQ(abuse.output, "2 ranks: buffers behave as private memory\n");
    EXPECT_NE(abuse.errors.find(log_line), std::string::npos) << abuse.errors;
    const Outcome info =
        run_ranks({"-n", "2"}, {rank_program("forbid"), what, RANK_PROGRAMS "/weft", "info"});
    EXPECT_EQ(info.status, 0) << info.errors;
    EXPECT_NE(info.output.find(reason), std::string::npos) << info.output;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, ForbiddenTest,
    testing::Values(Forbidden{"process_vm",
                              "through put targets (the kernel does not copy to rank "
                              "0 from its local peers: Operation not permitted)",
                              "the kernel does not copy to rank 0 from its local peers"},
                    Forbidden{"procmap_query",
                              "copied by the kernel; in place only in the heap (the "
                              "kernel does not answer PROCMAP_QUERY)",
                              "the kernel does not answer PROCMAP_QUERY"}),
    [](const auto& chosen) { return std::string(chosen.param.what); });

TEST(ForbiddenTest, ACopyRefusedDuringACallFailsOnAllRanks) {
    const Outcome outcome = run_ranks({"-n", "3"}, {rank_program("direct_refused")},
                                      {"WEFT_DIRECT=copy", "WEFT_ALLREDUCE=mapped"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, "all ranks name the refused rank\n") << outcome.errors;
}

/// Returns the words of each line of the last table that rank 0 prints with WEFT_STATS=1.
std::vector<Words> rows_of_table(const Outcome& outcome) {
    std::istringstream table(outcome.errors);
    std::vector<Words> rows;
    for (std::string line; std::getline(table, line);) {
        if (rows.empty() && !line.starts_with("weft: memory of local peers")) continue;
        std::istringstream words(line);
        rows.emplace_back(std::istream_iterator<std::string>(words),
                          std::istream_iterator<std::string>());
    }
    return rows;
}

/// The table of WEFT_STATS=1 has a title, two lines of headings, a row for each rank and a row of
/// sums. The first two words of a row are "weft:" and the rank or "all"; 16 counters follow.
TEST(StatisticsTest, TheTableHasARowForEachRankAndTheirSums) {
    const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("direct_abuse")},
                                      {"WEFT_STATS=1", "WEFT_DIRECT=adopt"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    const std::vector<Words> rows = rows_of_table(outcome);
    ASSERT_EQ(rows.size(), 6U);
    constexpr std::size_t kColumns = 16;
    for (std::size_t row = 3; row < rows.size(); ++row) {
        ASSERT_EQ(rows[row].size(), 2 + kColumns);
        EXPECT_EQ(rows[row][1], row == 5 ? "all" : std::to_string(row - 3));
    }
    for (std::size_t at = 2; at < 2 + kColumns; ++at)
        EXPECT_EQ(std::stoull(rows[3][at]) + std::stoull(rows[4][at]), std::stoull(rows[5][at]));
    EXPECT_GT(std::stoull(rows[5][2]), 0U) << "bytes read in place";
    // direct_abuse has 300 buffers in many_buffers(), and more in other cases.
    EXPECT_GT(std::stoull(rows[5][2 + 7]), 300U) << "number of remappings (column 7)";
}

/// Minimum of data that n ranks must read and write in the memory of local peers, in units: blocks,
/// or whole buffers of collectives without blocks. In an allreduce each rank reduces a slice of the
/// buffer: all ranks together read n - 1 buffers of peers and write the result to n - 1 peers.
struct Movement {
    const char* collective;
    std::uint64_t (*read)(std::uint64_t n);
    std::uint64_t (*written)(std::uint64_t n);
    bool either;  ///< `read` is the sum of reads and writes: the two ranks of a transfer share it
};

constexpr auto kNone = [](std::uint64_t) { return std::uint64_t{0}; };
constexpr auto kOnePerPeer = [](std::uint64_t n) { return n - 1; };
constexpr auto kOnePerPair = [](std::uint64_t n) { return n * (n - 1); };

constexpr Movement kMovements[] = {
    {"broadcast", kOnePerPeer, kNone, true},       {"allreduce", kOnePerPeer, kOnePerPeer, false},
    {"reduce_scatter", kOnePerPair, kNone, false}, {"allgather", kOnePerPair, kNone, false},
    {"alltoall", kOnePerPair, kNone, true},        {"scatter", kOnePerPeer, kNone, true},
    {"gather", kOnePerPeer, kNone, true},
};

class MovementTest : public testing::TestWithParam<Movement> {};

/// Compares the counters of WEFT_STATS=1 with the minimum, for the default algorithm, symmetric
/// buffers and remapped buffers.
TEST_P(MovementTest, NoMoreThanTheNecessaryBytesAreMoved) {
    constexpr std::uint64_t kDoubles = 6 << 14;  // 768 KiB; divisible by 2 and 3 ranks
    constexpr std::uint64_t kCalls = 5;
    const Movement& movement = GetParam();
    for (const char* where : {"weft_alloc", "malloc"}) {
        for (const std::uint64_t ranks : {2U, 3U}) {
            SCOPED_TRACE(fmt::format("{}, {} ranks", where, ranks));
            const Outcome outcome =
                run_ranks({"-n", std::to_string(ranks)},
                          {rank_program("direct_counts"), movement.collective,
                           std::to_string(kDoubles), std::to_string(kCalls), where},
                          {"WEFT_STATS=1", "WEFT_DIRECT=adopt"});
            EXPECT_EQ(outcome.status, 0) << outcome.errors;
            const std::vector<Words> rows = rows_of_table(outcome);
            ASSERT_EQ(rows.size(), 4 + ranks) << outcome.errors;
            // Columns 0 to 5: bytes read in place, read by the kernel, written in place, written by
            // the kernel; exposed buffers in symmetric and in remapped memory.
            const auto sum = [&](std::size_t column) {
                return std::stoull(rows.back()[2 + column]);
            };
            constexpr std::uint64_t kBytes = kDoubles * sizeof(double) * kCalls;
            const std::uint64_t read = sum(0);
            const std::uint64_t written = sum(2);
            EXPECT_EQ(sum(1) + sum(3), 0U) << "bytes copied by the kernel";
            if (movement.either) {
                EXPECT_EQ(read + written, kBytes * movement.read(ranks));
            } else {
                EXPECT_EQ(read, kBytes * movement.read(ranks));
                EXPECT_EQ(written, kBytes * movement.written(ranks));
            }
            const std::size_t column = std::string_view(where) == "malloc" ? 5 : 4;
            EXPECT_GE(sum(column), kCalls) << "buffers that calls exposed";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Collectives, MovementTest, testing::ValuesIn(kMovements),
                         [](const auto& chosen) { return std::string(chosen.param.collective); });

/// Returns the bytes of memory that are available without swapping.
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
    /// Checks a broadcast, and an alltoallv with one block of `block_bytes`.
    static void check(std::uint64_t broadcast_bytes, std::uint64_t block_bytes) {
        const std::string broadcast = std::to_string(broadcast_bytes);
        const std::string block = std::to_string(block_bytes);
        const Outcome outcome =
            run_ranks(GetParam().options, {rank_program("giants"), broadcast, block});
        expect_success(outcome,
                       std::to_string(GetParam().ranks) + " ranks: large blocks are right\n");
    }
};

TEST_P(GiantsTest, BlocksOfMebibytesAreRight) {
    check((3U << 20) + 5, (2U << 20) + 17);
}

TEST_P(GiantsTest, BlocksBeyondThe32BitRangeAreRight) {
    if (!long_forms()) GTEST_SKIP() << "only in the long form";
    constexpr std::uint64_t kBroadcastBytes = std::uint64_t{3} << 30;
    const std::uint64_t needed =
        static_cast<std::uint64_t>(GetParam().ranks) * kBroadcastBytes + (std::uint64_t{1} << 30);
    if (available_bytes() < needed)
        GTEST_SKIP() << available_bytes() << " bytes of memory available, " << needed << " needed";
    check(kBroadcastBytes, (std::uint64_t{1} << 31) + 17);
}

TEST(GiantsInPlaceTest, BroadcastsOfFourGibibytesAreRight) {
    if (!long_forms()) GTEST_SKIP() << "only in the long form";
    constexpr std::uint64_t kBytes = (std::uint64_t{4} << 30) + 8193;
    constexpr std::uint64_t kNeeded = 3 * kBytes;
    if (available_bytes() < kNeeded)
        GTEST_SKIP() << available_bytes() << " bytes of memory available, " << kNeeded << " needed";
    for (const char* method : {"adopt", "copy"}) {
        const Outcome outcome =
            run_ranks({"-n", "2"}, {rank_program("giants"), std::to_string(kBytes), "100000"},
                      {std::string("WEFT_DIRECT=") + method, "WEFT_TIMEOUT=600"});
        EXPECT_EQ(outcome.status, 0) << method;
        EXPECT_EQ(outcome.errors, "") << method;
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, GiantsTest,
                         testing::Values(launch_of(1, 1), launch_of(2, 1), launch_of(2, 2)),
                         [](const auto& chosen) { return chosen.param.name; });

TEST(MessagesTest, NetworksWithCountersCarryMessages) {
    const Outcome outcome = run_ranks({"-n", "2", "--nodes", "2"}, {rank_program("messages")},
                                      {"WEFT_PROVIDER=sockets", "WEFT_NOTIFY=counter"});
    expect_success(outcome, "2 ranks: all messages are right\n");
}

TEST(CallersJobTest, RanksStartWithoutALauncher) {
    const Outcome outcome = run_command({rank_program("callers_job")});
    expect_success(outcome, "4 ranks: teams made by their members work\n");
}

/// The parameter is the method by which freed.cpp frees the memory.
class FreedTest : public testing::TestWithParam<const char*> {};

TEST_P(FreedTest, PutsInFlightDoNotReachTheNextAllocation) {
    const Outcome outcome =
        run_ranks({"-n", "3", "--nodes", "3"}, {rank_program("freed"), GetParam()},
                  {"WEFT_ALLREDUCE=reduce-broadcast:tree=(kary:k=2)", "WEFT_BARRIER=central"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
}

INSTANTIATE_TEST_SUITE_P(Methods, FreedTest,
                         testing::Values("free", "release", "destructor", "team",
                                         "team_destructor"),
                         [](const auto& chosen) { return std::string(chosen.param); });

/// Runs team_trees.cpp. The minima show that the random steps reach full tables and many calls.
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
TEST(TeamTreesTest, RandomTreesOnSeveralNodesAgreeWithASerialModel) {
    check_trees(launch_of(6, 3));
}

/// False with the address sanitizer: its heap keeps freed memory, and it detects leaks itself.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHeapIsExact = false;
#else
constexpr bool kHeapIsExact = true;
#endif

TEST(TeamLeaksTest, SplitsAndFreesLeakNoMemory) {
    if (!kHeapIsExact) GTEST_SKIP() << "the sanitizer's heap keeps freed memory";
    const char* const rounds = long_forms() ? "10000" : "500";
    for (const Launch& launch : {launch_of(3, 1), launch_of(4, 2)}) {
        // By default the completion ring of libfabric's ofi_rxm is made for 256 processes. Its 12
        // MiB become resident slowly, which would look like a leak.
        const Outcome outcome =
            run_ranks(launch.options, {rank_program("team_leaks"), rounds}, {"FI_UNIVERSE_SIZE=4"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        printf("%s", outcome.output.c_str());
    }
}

/// Negative control: each round leaks 128 bytes.
TEST(TeamLeaksTest, ALeakIsDetected) {
    if (!kHeapIsExact) GTEST_SKIP() << "the sanitizer's heap keeps freed memory";
    const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("team_leaks"), "500", "--leak"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.errors.find("heap grew by"), std::string::npos) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
