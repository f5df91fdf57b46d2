// SPDX-License-Identifier: BSD-3-Clause
// Bug: calls of a forked child were executed. They changed the segment that the child shared with
// its parent, and the next call of the parent succeeded with a wrong result. weft_init() and
// weft_finalize() in the child never returned. Method: run calls_in_children.cpp, in which a child
// of each rank calls each entry point of both interfaces. In commit 9d518da, which lacks the fix,
// all jobs fail with "symmetric memory has changed".
#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

/// Arguments of calls_in_children.cpp: method to make the child, interface.
using Child = std::tuple<std::string, std::string>;
class CallsInChildren : public testing::TestWithParam<Child> {};

TEST_P(CallsInChildren, AllCallsInForkedChildrenAreRefused) {
    const auto& [method, interface] = GetParam();
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "2", "--nodes", "2"}}) {
        const Outcome outcome =
            run_ranks(options, {rank_program("calls_in_children"), method, interface});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(outcome.errors, "");
    }
}
INSTANTIATE_TEST_SUITE_P(Forks, CallsInChildren,
                         testing::Combine(testing::Values("fork", "_Fork", "clone", "old_kernel"),
                                          testing::Values("c", "cpp")),
                         [](const auto& child) {
                             return std::get<0>(child.param) + "_" + std::get<1>(child.param);
                         });

}  // namespace
}  // namespace weft::test
