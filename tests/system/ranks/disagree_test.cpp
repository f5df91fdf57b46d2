// SPDX-License-Identifier: BSD-3-Clause
// Goal: ranks that disagree about a call do not hang. They soon get an error that names two ranks,
// the call of each, and its number. The error names calls of the program, such as alloc, and not
// the reductions inside them. Method: run disagree.cpp, in which the last rank makes another call.
#include <gtest/gtest.h>

#include <regex>

#include "tests/system/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

constexpr int kCaught = 40;  ///< status of disagree.cpp after an error about arguments

/// A case of disagree.cpp, and the calls that the error must name.
struct Disagreement {
    std::string name;           ///< argument of disagree.cpp
    std::string last_call;      ///< start of the text about the last rank's call
    std::string other_call;     ///< start of the text about the other ranks' call
    std::string number = "10";  ///< index of the call: disagree.cpp makes ten barriers before it
};

class DisagreeTest : public testing::TestWithParam<std::tuple<Disagreement, Words>> {};

TEST_P(DisagreeTest, TheErrorNamesBothRanksAndBothCalls) {
    const auto& [disagreement, options] = GetParam();
    const Outcome outcome = run_ranks(options, {rank_program("disagree"), disagreement.name});
    EXPECT_EQ(outcome.status, kCaught) << outcome.errors;
    EXPECT_LT(outcome.seconds, 10) << "ranks compare calls after 1 s and have 2 s to end";
    const std::regex message("caught: (?:\\w+: )?ranks disagree about call " + disagreement.number +
                             " of team 0: "
                             "rank ([0-9]+) called (.*); rank ([0-9]+) called (.*)");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(outcome.errors, found, message)) << outcome.errors;
    const bool last_first = found[1] == "3";  // the last rank is named first
    EXPECT_NE(found[1], found[3]);
    EXPECT_TRUE(last_first || found[3] == "3") << found[0];
    const std::string last_call = found[last_first ? 2 : 4];
    const std::string other_call = found[last_first ? 4 : 2];
    EXPECT_TRUE(last_call.starts_with(disagreement.last_call)) << last_call;
    EXPECT_TRUE(other_call.starts_with(disagreement.other_call)) << other_call;
}

std::vector<Disagreement> disagreements() {
    const std::string usual = "allreduce of 4 double with sum by";
    return {{"count", "allreduce of 3 double with sum by", usual},
            {"large-count", "allreduce of 99999 double", "allreduce of 100000 double"},
            {"operation", "allreduce of 4 double with max by", usual},
            {"type", "allreduce of 4 int64 with sum by", usual},
            {"root", "broadcast of 4 double from root 1", "broadcast of 4 double from root 0"},
            {"collective", "barrier by", usual},
            {"root-continues", "broadcast of 5 double from root 3",
             "broadcast of 4 double from root 3"},
            {"started", "allreduce of 3 double with sum by", usual},
            {"stencil", "neighbor_alltoall of 3 double by direct on a grid of 4 ",
             "neighbor_alltoall of 4 double by direct on a grid of 4 "},
            {"stencil-way", "neighbor_allgather of 4 double by combined on",
             "neighbor_allgather of 4 double by direct on"},
            {"stencil-grid", "neighbor_alltoall of 4 double by direct on a grid of 2x2 ",
             "neighbor_alltoall of 4 double by direct on a grid of 1x4 "},
            {"alloc", "alloc", usual},
            {"finalize", "finalize", usual},
            {"after-broadcasts", "allreduce of 3 double with sum by", usual, "710"}};
}

INSTANTIATE_TEST_SUITE_P(Calls, DisagreeTest,
                         testing::Combine(testing::ValuesIn(disagreements()),
                                          testing::Values(Words{"-n", "4"},
                                                          Words{"-n", "4", "--nodes", "2"})),
                         [](const auto& chosen) {
                             return as_name(std::get<0>(chosen.param).name) +
                                    (std::get<1>(chosen.param).size() > 2 ? "_on_two_nodes"
                                                                          : "_on_one_node");
                         });

}  // namespace
}  // namespace weft::test
