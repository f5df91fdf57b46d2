// SPDX-License-Identifier: BSD-3-Clause
// Bug: a file named by a variable or an option was read to its end before its size was checked, so
// /dev/zero used up all memory.
// Method: give /dev/zero for WEFT_TUNING, WEFT_PARAMETERS and input options of commands. It must be
// refused.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/read_file.hpp"
#include "run/job/measured_files.hpp"

namespace weft::test {
namespace {

TEST(EndlessFiles, ReadsStopAtTheLimit) {
    const std::string path =
        fmt::format("{}weft_endless_files_{}.txt", testing::TempDir(), ::getpid());
    std::ofstream(path) << std::string(1000, 'a');
    const auto whole = base::read_file(path, 1000);
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(*whole, std::string(1000, 'a'));
    const auto longer = base::read_file(path, 999);
    ASSERT_FALSE(longer.ok());
    EXPECT_EQ(longer.failure().text, path + " has more than 999 bytes");
    std::remove(path.c_str());
    const auto gone = base::read_file(path, 1000);
    ASSERT_FALSE(gone.ok());
    EXPECT_EQ(gone.failure().text, path + " cannot be read: No such file or directory");
}

TEST(EndlessFiles, EndlessFilesInVariablesAreRefused) {
    for (const char* const variable : {"WEFT_TUNING", "WEFT_PARAMETERS"}) {
        base::Settings settings;
        (variable == std::string("WEFT_TUNING") ? settings.tuning : settings.parameters) =
            "/dev/zero";
        const auto files = run::read_measured_files(settings);
        ASSERT_FALSE(files.ok());
        EXPECT_EQ(files.failure().text,
                  fmt::format("{}: /dev/zero has more than 67108864 bytes", variable));
    }
}

TEST(EndlessFiles, EndlessFilesInOptionsAreRefused) {
    struct Case {
        const char* arguments;
        const char* message;  ///< start of the message
    };
    for (const Case& c :
         {Case{"verify allreduce --program /dev/zero",
               "weft: --program: /dev/zero has more than 1073741824 bytes\n"},
          Case{"goal /dev/zero --latency-ns 1",
               "weft: file: /dev/zero has more than 1073741824 bytes\n"},
          Case{
              "cost allreduce --algorithm a2 --ranks 2 --params /dev/zero",
              "weft: --params: /dev/zero has more than 67108864 bytes; expected a file or one of "},
          Case{"explain allreduce --ranks 2 --tuning /dev/zero",
               "weft: --tuning: /dev/zero has more than 67108864 bytes\n"}}) {
        const std::string command =
            fmt::format("timeout 60 '{}' {} 2>&1", WEFT_PROGRAM, c.arguments);
        std::FILE* const output = popen(command.c_str(), "r");
        ASSERT_NE(output, nullptr);
        char line[300] = {};
        EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
        EXPECT_EQ(WEXITSTATUS(pclose(output)), 2) << c.arguments;
        EXPECT_EQ(std::string(line).substr(0, std::string(c.message).size()), c.message);
    }
}

}  // namespace
}  // namespace weft::test
