// SPDX-License-Identifier: BSD-3-Clause
// Bug: the only variable part of a trace's file name was the process ID of rank 0, and an existing
// file was replaced. The second runtime of a process, and a process of another container with the
// same ID, replaced the earlier trace. Method: make three runtimes in a process and count the
// files. In commit 9d518da, which lacks the fix, one file remains.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

constexpr int kRuntimes = 3;

int run_rank(const Words&) {
    for (int i = 0; i < kRuntimes; ++i) {
        Runtime runtime;
        runtime.world().barrier();
        runtime.finalize();
    }
    return 0;
}
const RankFunction kRankFunction("traces_replace_others", run_rank);

TEST(TracesReplaceOthers, RuntimesInOneFolderWriteSeparateTraces) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / fmt::format("weft_traces_{}", ::getpid());
    const Outcome outcome =
        run_function({"-n", "2"}, "traces_replace_others", {}, {"WEFT_TRACE=" + folder.string()});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), kRuntimes);
    for (const auto& file : std::filesystem::directory_iterator(folder))
        EXPECT_GT(std::filesystem::file_size(file), 0U) << file.path();
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::test
