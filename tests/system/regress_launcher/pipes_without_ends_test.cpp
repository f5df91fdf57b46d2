// SPDX-License-Identifier: BSD-3-Clause
// Bug: if WEFT_TUNING, WEFT_PARAMETERS or WEFT_LOG_FILE named a pipe without a process at its other
// end, start-up hung in open(). Method: name a pipe in each variable, and links and devices as log
// files. In commit 9d518da, which lacks the fix, the jobs with pipes hang until they are killed.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// Tests with a folder that has a named pipe.
class PipesWithoutEnds : public testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directory(folder_);
        ASSERT_EQ(::mkfifo(pipe().c_str(), 0600), 0);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string pipe() const { return folder_ / "pipe"; }
    [[nodiscard]] std::string in_folder(const char* name) const { return folder_ / name; }
    static Outcome run(const Words& settings) {
        return run_ranks({"-n", "2", "--timeout", "20"}, {rank_program("hello")}, settings);
    }

  private:
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / fmt::format("weft_pipes_{}", ::getpid());
};

TEST_F(PipesWithoutEnds, PipesAreRefusedAsInput) {
    for (const char* const variable : {"WEFT_TUNING", "WEFT_PARAMETERS"}) {
        const Outcome outcome = run({fmt::format("{}={}", variable, pipe())});
        EXPECT_EQ(outcome.status, 128 + SIGABRT) << "hello does not catch the Error";
        EXPECT_NE(
            outcome.errors.find(fmt::format("{}: {} is a pipe, expected a file", variable, pipe())),
            std::string::npos)
            << outcome.errors;
    }
}

TEST_F(PipesWithoutEnds, PipesAndLinksAreRefusedAsLogs) {
    std::ofstream(in_folder("target"));
    std::filesystem::create_symlink(in_folder("target"), in_folder("link"));
    for (const char* const name : {"pipe", "link"}) {
        const Outcome outcome = run({"WEFT_LOG=info", "WEFT_LOG_FILE=" + in_folder(name)});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_NE(outcome.errors.find("WEFT_LOG_FILE: cannot open " + in_folder(name)),
                  std::string::npos)
            << outcome.errors;
    }
    EXPECT_EQ(std::filesystem::file_size(in_folder("target")), 0U);
}

TEST_F(PipesWithoutEnds, FilesAndDevicesAreAcceptedAsLogs) {
    for (const char* const name : {"/dev/stderr", "/dev/null"}) {
        const Outcome outcome = run({"WEFT_LOG=info", fmt::format("WEFT_LOG_FILE={}", name)});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(outcome.errors.find("cannot open"), std::string::npos) << outcome.errors;
    }
    for (int job = 0; job < 2; ++job)
        EXPECT_EQ(run({"WEFT_LOG=info", "WEFT_LOG_FILE=" + in_folder("log")}).status, 0);
    std::ostringstream text;
    text << std::ifstream(in_folder("log")).rdbuf();
    EXPECT_NE(text.str().find("weft: info: "), std::string::npos);
}

}  // namespace
}  // namespace weft::test
