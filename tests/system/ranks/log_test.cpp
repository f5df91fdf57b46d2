// SPDX-License-Identifier: BSD-3-Clause
// Goal: WEFT_LOG=info prints a job's settings, layout and choices with reasons, once and in few
// lines. `trace` adds a line for each call; `warn` prints none of these. Method: read what
// hello.cpp prints.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Returns the number of lines that contain `part`.
std::ptrdiff_t count(const std::vector<std::string>& lines, const std::string& part) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

/// Returns the lines that the ranks of hello.cpp print to stderr.
std::vector<std::string> logged(const Words& options, const Words& settings) {
    const Outcome outcome = run_ranks(options, {rank_program("hello")}, settings);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return lines_of(outcome.errors);
}

TEST(LogTest, WarnAndTheDefaultPrintNothing) {
    EXPECT_TRUE(logged({"-n", "2"}, {}).empty());
    EXPECT_TRUE(logged({"-n", "2"}, {"WEFT_LOG=warn"}).empty());
}

TEST(LogTest, InfoReportsTheJobAndEachChoiceOnceInAtMostTwentyLines) {
    const auto lines = logged({"-n", "4"}, {"WEFT_LOG=info"});
    EXPECT_LE(lines.size(), 20U);
    EXPECT_EQ(count(lines, "weft: info: "), std::ssize(lines));
    for (const char* part : {"info: weft ", "4 ranks on 1 node (ranks of each node: 4)",
                             "network: none", "memory of each rank: ", "settings: WEFT_LOG=info",
                             "team 0 (ranks 0, 1, 2, 3): allreduce of 1 double with sum by "})
        EXPECT_EQ(count(lines, part), 1) << part;
    EXPECT_EQ(count(lines, ": least predicted time"), count(lines, "info: team "));
}

TEST(LogTest, InfoGivesReasonsForNetworkAndForcedAlgorithm) {
    const auto lines = logged({"-n", "4", "--nodes", "2"},
                              {"WEFT_LOG=info", "WEFT_ALLREDUCE=a2,a2", "WEFT_NOTIFY=delivery"});
    EXPECT_LE(lines.size(), 20U);
    for (const char* part :
         {"4 ranks on 2 nodes (ranks of each node: 2, 2)", "network: provider ",
          "WEFT_NOTIFY asks for it", "1 double with sum by a2,a2: WEFT_ALLREDUCE sets it"})
        EXPECT_EQ(count(lines, part), 1) << part;
}

/// weft sets FI_ variables before it loads libfabric. If the program has loaded libfabric earlier,
/// libfabric may have read its variables already. The log names those that weft has set too late.
TEST(LogTest, SettingsThatLibfabricMayHaveMissedAreNamed) {
    const Words settings{"WEFT_LOG=info", "WEFT_PROVIDER=tcp;ofi_rxm"};
    const Words options{"-n", "2", "--nodes", "2"};
    const std::string size = "FI_OFI_RXM_BUFFER_SIZE=256 ";
    const std::string late = "FI_OFI_RXM_USE_SRX=1 FI_UNIVERSE_SIZE=1024 too late";
    EXPECT_EQ(count(logged(options, settings), late), 0);
    Words preloaded = settings;
    preloaded.emplace_back("LD_PRELOAD=libfabric.so.1");
    EXPECT_EQ(count(logged(options, preloaded), size + late), 1);
    preloaded.emplace_back("FI_OFI_RXM_BUFFER_SIZE=512");
    const auto lines = logged(options, preloaded);
    EXPECT_EQ(count(lines, late), 1);
    EXPECT_EQ(count(lines, size), 0);
}

TEST(LogTest, TraceHasALineForEachCallOfEachRank) {
    const auto lines = logged({"-n", "2"}, {"WEFT_LOG=trace"});
    for (const char* rank : {"trace: rank 0: ", "trace: rank 1: "})
        EXPECT_EQ(count(lines, std::string(rank) + "team 0 (ranks 0, 1): allreduce of 1 double"), 1)
            << rank;
}

TEST(LogTest, AFileNameWithTheRankGivesEachRankItsFile) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("weft_log_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    EXPECT_TRUE(
        logged({"-n", "2"}, {"WEFT_LOG=info", "WEFT_LOG_FILE=" + (folder / "log.%h.%r").string()})
            .empty());
    std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(folder), {});
    std::ranges::sort(files);
    ASSERT_EQ(files.size(), 2U);
    for (int rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(files[static_cast<std::size_t>(rank)].extension(), "." + std::to_string(rank));
        std::ifstream file(files[static_cast<std::size_t>(rank)]);
        const auto lines = lines_of({std::istreambuf_iterator<char>(file), {}});
        EXPECT_EQ(count(lines, "2 ranks on 1 node"), 1);
    }
    std::filesystem::remove_all(folder);
}

TEST(LogTest, AnUnknownLevelIsReportedOnce) {
    const auto lines = logged({"-n", "2"}, {"WEFT_LOG=loud"});
    EXPECT_EQ(lines, Words{"weft: WEFT_LOG=loud: expected warn, info or trace; warn is used"});
}

}  // namespace
}  // namespace weft::test
