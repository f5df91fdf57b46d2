// SPDX-License-Identifier: BSD-3-Clause
// Goal: the README shows the program hello.cpp, which works, and a job starts and ends quickly. A
// job of weft run can run several programs, one after another.
// Method: compare the texts; time 20 launches. The fastest launch must take less than 0.1 s. The
// median may take 2 s, because the machine may be busy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

/// Returns the contents of a file of the source tree.
std::string text_of(const std::string& path) {
    std::ifstream file(std::string(SOURCE_FOLDER) + "/" + path);
    EXPECT_TRUE(file.good()) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the source after its leading comments.
std::string body_of(const std::string& source) {
    std::size_t at = 0;
    while (source.compare(at, 2, "//") == 0) at = source.find('\n', at) + 1;
    while (source[at] == '\n') ++at;
    return source.substr(at);
}

TEST(StartupTest, TheProgramInTheReadmeEqualsTheTestedOne) {
    const std::string readme = text_of("README.md");
    const std::string marker = "<!-- example: tests/system/ranks/hello.cpp";
    const std::string fence = "```cpp\n";
    const std::size_t marked = readme.find(marker);
    ASSERT_NE(marked, std::string::npos);
    const std::size_t begin = readme.find(fence, marked) + fence.size();
    const std::size_t end = readme.find("```", begin);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(readme.substr(begin, end - begin), body_of(text_of("tests/system/ranks/hello.cpp")));
}

TEST(StartupTest, TwoRanksStartAndEndFast) {
    std::vector<double> seconds;
    for (int i = 0; i < 20; ++i) {
        const Outcome outcome = run_ranks({"-n", "2"}, {rank_program("hello")});
        ASSERT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(outcome.output, "2 ranks, sum 3\n");
        EXPECT_EQ(outcome.errors, "");
        seconds.push_back(outcome.seconds);
    }
    std::ranges::sort(seconds);
    fmt::print("two ranks, from start to end: median {:.0f} ms, {:.0f} to {:.0f} ms\n",
               seconds[10] * 1e3, seconds.front() * 1e3, seconds.back() * 1e3);
    EXPECT_LT(seconds[10], 2.0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(seconds.front(), 0.1);
#endif
}

TEST(StartupTest, AJobOfWeftRunMayRunSeveralProgramsInTurn) {
    const std::string hello = rank_program("hello");
    const Words programs{"sh", "-c", fmt::format("{0} && {0} && {0}", hello)};
    std::string expected;
    for (int program = 0; program < 3; ++program) expected += "3 ranks, sum 6\n";
    const Outcome outcome = run_ranks({"-n", "3"}, programs);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, expected);
}

TEST(StartupTest, TheCommandInTheReadmeRuns) {
    const Outcome outcome = run_ranks({"-n", "8", "--nodes", "2"}, {rank_program("hello")});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, "8 ranks, sum 36\n");
}

}  // namespace
}  // namespace weft::test
