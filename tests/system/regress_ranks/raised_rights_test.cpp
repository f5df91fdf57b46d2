// SPDX-License-Identifier: BSD-3-Clause
// Bug: set-user-id programs used WEFT_LOG_FILE, WEFT_TRACE, WEFT_TUNING, WEFT_PARAMETERS and
// WEFT_FABRIC_MODULE, so users could write and read files with the program's rights. Method: run a
// set-user-id copy of this program as another user, once for each variable that names a file. As a
// control, run the copy without raised rights. Needs root. In commit 9d518da, which lacks the fix,
// the program makes a log and a folder for traces as root, and reads the other files.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/environment.hpp"
#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// Prints the value of the variable in this process, and makes a runtime.
int run_rank(const Words& words) {
    const auto settings = base::read_settings(environ, {});
    if (!settings) return 3;
    for (const base::Variable& variable : base::variables())
        if (variable.name == words[0]) fmt::print("[{}]\n", variable.print(*settings));
    std::fflush(stdout);
    Runtime runtime;
    runtime.world().barrier();
    runtime.finalize();
    return 0;
}
const RankFunction kRankFunction("raised_rights", run_rank);

/// Tests with a folder that only root may write to, and a copy of this program that all may run.
class RaisedRights : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root can make a set-user-id program of root";
        folder_ = std::filesystem::temp_directory_path() /
                  fmt::format("weft_raised_rights_{}", ::getpid());
        std::filesystem::create_directory(folder_);
        std::filesystem::create_directory(protected_folder());
        std::filesystem::copy_file("/proc/self/exe", program());
        ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    }
    void TearDown() override {
        if (!folder_.empty()) std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] std::string program() const { return folder_ / "program"; }
    [[nodiscard]] std::string protected_folder() const { return folder_ / "protected"; }
    /// Runs the copy with these file permissions as user 54321, with the variable set to a file in
    /// the protected folder.
    [[nodiscard]] Outcome run(mode_t mode, std::string_view variable) const {
        EXPECT_EQ(::chmod(program().c_str(), mode), 0);
        Words command{"setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"};
        command.insert(command.end(),
                       {program(), "--rank", "raised_rights", std::string(variable)});
        return run_command(
            command, {"WEFT_LOG=info", fmt::format("{}={}/file", variable, protected_folder())});
    }

  private:
    std::filesystem::path folder_;
};

TEST_F(RaisedRights, VariablesThatNameFilesAreIgnored) {
    std::size_t count = 0;
    for (const base::Variable& variable : base::variables()) {
        if (!variable.names_file) {
            // No variable names a file without this mark.
            EXPECT_EQ(variable.form.find("file"), std::string_view::npos) << variable.name;
            EXPECT_EQ(variable.form.find("folder"), std::string_view::npos) << variable.name;
            continue;
        }
        ++count;
        const Outcome raised = run(04755, variable.name);
        EXPECT_EQ(raised.status, 0) << variable.name << ": " << raised.errors;
        EXPECT_EQ(raised.output, "[]\n") << variable.name;
        EXPECT_NE(raised.errors.find(fmt::format("{} is ignored", variable.name)),
                  std::string::npos)
            << raised.errors;
        EXPECT_TRUE(std::filesystem::is_empty(protected_folder())) << variable.name;
        const Outcome control = run(0755, variable.name);
        EXPECT_EQ(control.output, fmt::format("[{}/file]\n", protected_folder())) << variable.name;
    }
    EXPECT_EQ(count, 5U) << "the variables named above";
}

}  // namespace
}  // namespace weft::test
