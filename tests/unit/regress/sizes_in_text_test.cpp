// SPDX-License-Identifier: BSD-3-Clause
// Bug: three inputs could allocate any amount of memory, until the kernel killed the process: a
// line of a program's text (`units 4000000000`), a number of --layout or --ranks, and `ranks N` in
// a file with one program. In the verifier, the indices of buffers with 2^32 units wrapped.
// Method: such sizes are refused at once, with their position. The texts of large generated
// programs are accepted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "collectives/registry.hpp"
#include "tests/support/full_mode.hpp"
#include "tools/text/text.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {
namespace {

constexpr const char* kCopy = "rank 0\n copy output = input\n";

void expect_refused(const std::string& text, const char* words) {
    const auto programs = parse_programs(text);
    ASSERT_FALSE(programs.ok()) << text;
    EXPECT_NE(programs.failure().text.find(words), std::string::npos) << programs.failure().text;
}

TEST(SizesInText, AHeaderLineWithAHugeNumberIsRefused) {
    for (const char* word : {"units", "segments", "depth", "slots", "scratch"}) {
        const std::string line = fmt::format("{} 4000000000\n", word);
        expect_refused(line + kCopy, fmt::format("line 1, column {}: expected a number of",
                                                 std::string_view(word).size() + 2)
                                         .c_str());
        expect_refused(fmt::format("rank 0\n {} copy output = input\n", line), "line 2, column");
    }
}

TEST(SizesInText, LinesWithAHugeTotalAreRefused) {
    expect_refused(std::string("units 65536\nscratch 65536\n") + kCopy,
                   "line 3: rank 0: 4295098368 units of buffers up to here");
    expect_refused(std::string("units 65536\n") + "rank 0\n copy scratch 65535[0] = input[0]\n",
                   "units of buffers up to here");
    expect_refused("segments 4000000\nrank 0\n loop\n flush\n flush\n end\n",
                   "line 2: rank 0: 8000001 steps and units that they handle");
    expect_refused("units 10000\nrank 0\n loop 10000\n copy output = input\n end\n",
                   "steps and units that they handle");
    expect_refused("rank 0\n reduce output = input[0+4000000000 stride 2]\n",
                   "steps and units that they handle");
}

TEST(SizesInText, ABlockLargerThanItsBufferIsInvalid) {
    const auto programs = parse_programs("units 2\nrank 0\n copy output[0+9] = input[0+9]\n");
    ASSERT_TRUE(programs.ok()) << programs.failure().text;
    const Verdict verdict = verify({.programs = *programs, .elements = 2, .element_bytes = 8});
    EXPECT_FALSE(verdict.valid);
    EXPECT_NE(verdict.error.find("names unit 8, but buffers have 2 units"), std::string::npos)
        << verdict.error;
}

TEST(SizesInText, TooManyUnitsAreInvalid) {
    Program program;
    program.units = 0x80000000U;
    EXPECT_NE(verify({.programs = {&program, 1}, .elements = 1, .element_bytes = 8})
                  .error.find("can be verified"),
              std::string::npos);
}

TEST(SizesInText, LargeGeneratedProgramsAreReadBack) {
    struct Case {
        const char* collective;
        const char* spec;
        Rank ranks;
        std::uint32_t segments;
    };
    for (const Case& c :
         {Case{"allgather", "ring", 300, 1}, Case{"alltoall", "direct", 100, 1},
          Case{"broadcast", "binomial", 16, 4096}, Case{"allreduce", "halving-doubling", 512, 1}}) {
        std::vector<Program> programs;
        for (Rank rank = 0; rank < c.ranks; ++rank)
            programs.push_back(
                *collectives::generate(c.collective, *collectives::parse_spec(c.spec),
                                       {.rank = rank,
                                        .size = c.ranks,
                                        .root = collectives::is_rooted(c.collective) ? 0 : kNoRank,
                                        .segments = c.segments,
                                        .elements = 1U << 20,
                                        .element_bytes = 8}));
        const auto read = parse_programs(to_text(programs));
        EXPECT_TRUE(read.ok()) << c.spec << ": " << read.failure().text;
    }
}

/// Runs `weft` with at most `kilobytes` KiB of address space; expects status 2 and this first line.
/// With a sanitizer, which reserves more address space, sets no limit.
void expect_refusal(const std::string& arguments, const std::string& line,
                    int kilobytes = 4'000'000) {
    const std::string limit = test::kSanitized ? "" : fmt::format("ulimit -v {}; ", kilobytes);
    const std::string command = fmt::format("{}'{}' {} 2>&1", limit, WEFT_PROGRAM, arguments);
    std::FILE* const output = popen(command.c_str(), "r");
    ASSERT_NE(output, nullptr);
    char found[300] = {};
    EXPECT_NE(std::fgets(found, sizeof found, output), nullptr);
    EXPECT_EQ(WEXITSTATUS(pclose(output)), 2) << arguments;
    EXPECT_EQ(found, "weft: " + line + '\n');
}

TEST(SizesInText, ALayoutOfTooManyRanksIsRefused) {
    expect_refusal("show allreduce --algorithm a2 --ranks 2 --layout 2147483647,1",
                   "--layout 2147483647,1 has 2147483648 ranks, expected 2");
}

TEST(SizesInText, MoreRanksThanTheLimitAreRefused) {
    const std::string many = " --algorithm ring --ranks 2147483647";
    const std::string refused = "--ranks: 2147483647 is not in 1..4194304";
    const std::string layout = " --layout 2147483647";
    expect_refusal("show allreduce" + many, refused);
    expect_refusal("show allreduce" + many + " --rank 0", refused);
    expect_refusal("verify allreduce" + many + layout, refused);
    expect_refusal("verify allgatherv" + many, refused);
    expect_refusal("cost allreduce --params infiniband-2007" + many + layout, refused);
    expect_refusal("simulate allreduce --latency-ns 1000" + many, refused);
    expect_refusal("simulate allreduce --latency-ns 1000" + many + layout, refused);
    expect_refusal("show neighbor_alltoall --algorithm direct --grid 46340x46340",
                   "--grid 46340x46340: 2147395600 ranks, at most 4194304");
}

TEST(SizesInText, APictureOfTooManyRanksIsRefused) {
    expect_refusal("show allgather --algorithm ring --ranks 100000 --svg",
                   "--svg: 100000 ranks are more than 1024");
}

TEST(SizesInText, ProgramsLargerThanTheLimitAreRefused) {
    if (!test::full_mode()) GTEST_SKIP() << "only with WEFT_TESTS_FULL: takes 4 GB of memory";
    expect_refusal(
        "show allgather --algorithm ring --ranks 100000",
        "--ranks: the programs of 100000 ranks have more than 134217728 steps and blocks",
        8'000'000);
}

TEST(SizesInText, AFileWithFewerProgramsThanRanksIsRefused) {
    const std::string path = testing::TempDir() + "weft_sizes_in_text.txt";
    std::ofstream(path) << "ranks 2147483647\nrank 0\n";
    expect_refusal(
        "verify gatherv --program " + path,
        fmt::format("--program: {} says 'ranks 2147483647', but holds the programs of 1", path));
    std::remove(path.c_str());
}

}  // namespace
}  // namespace weft::plan
