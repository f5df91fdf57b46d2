// SPDX-License-Identifier: BSD-3-Clause
// Bugs: a failed job removed all unlocked files /dev/shm/weft-* of its user, also files that weft
// had not made. A launcher that replaced a shell (exec) killed the shell's children, such as the
// reader of its output. Method: make such a file, and start such a child, before a job.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// A file that is removed at the end of the test.
struct File {
    explicit File(std::string at) : path(std::move(at)) { std::ofstream(path) << "results\n"; }
    ~File() { std::filesystem::remove(path); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const std::string path;
};

TEST(Others, AFailedJobKeepsFilesWithSimilarNames) {
    const File results(fmt::format("/dev/shm/weft-results.{}.csv", ::getpid()));
    const File left("/dev/shm/weft-00112233445566778899aabbccddeeff");  // as a killed rank leaves
    EXPECT_EQ(launch("", "-n 1 false").status, 1);
    EXPECT_TRUE(std::filesystem::exists(results.path));
    EXPECT_FALSE(std::filesystem::exists(left.path));
}

TEST(Others, ChildrenOfTheShellBeforeExecAreKept) {
    const File copy(fmt::format("{}copy.{}", testing::TempDir(), ::getpid()));
    const std::string reader = fmt::format("exec > >(sleep 0.5; cat > {});", copy.path);
    const Outcome outcome =
        run_command({"bash", "-c", reader + " exec " RANK_PROGRAMS "/weft run -n 2 echo line"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    std::string text;
    for (int tries = 0; tries < 50 && text != "line\nline\n"; ++tries) {
        ::usleep(100'000);
        std::ifstream file(copy.path);
        text.assign(std::istreambuf_iterator<char>(file), {});
    }
    EXPECT_EQ(text, "line\nline\n");
}

}  // namespace
}  // namespace weft::test
