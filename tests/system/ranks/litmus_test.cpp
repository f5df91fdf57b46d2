// SPDX-License-Identifier: BSD-3-Clause
// Goal: one-sided calls keep the promised order within a node, between nodes and in a mixed layout,
// with each available provider and each notify strategy. Method: run litmus.cpp; its report must
// have comparisons of each test. The negative control, fences without effect, is in
// tests/virtual/engine/onesided_test.cpp: a real fabric may keep the order without fences.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

/// A job of litmus.cpp.
struct LitmusRun {
    std::string name;
    Words options;
    Words program = {};          ///< options of litmus
    Words settings = {};         ///< environment variables
    bool in_short_form = false;  ///< not in the long form only
    std::string provider = {};   ///< the test is skipped if this provider is not available
};

std::vector<LitmusRun> runs() {
    constexpr bool kBothForms = true;
    const Words two_nodes{"-n", "2", "--nodes", "2"};
    const Words few_rounds{"--rounds", "14", "--storm", "1000"};
    std::vector<LitmusRun> all{
        {"one_node", {"-n", "4"}, {"--rounds", "100", "--storm", "100000"}, {}, kBothForms},
        {"one_rank", {"-n", "1"}, {}, {}, kBothForms},
        {"two_nodes", two_nodes, {"--rounds", "30", "--storm", "5000"}, {}, kBothForms},
        {"mixed", {"--layout", "2,1"}, few_rounds, {}, kBothForms},
        {"mixed_distance_2", {"--layout", "2,2"}, {"--distance", "2"}},
        {"three_nodes", {"-n", "3", "--nodes", "3"}},
        {"progress_thread", two_nodes, few_rounds, {"WEFT_PROGRESS=thread"}, kBothForms},
        {"storm", two_nodes, {"--rounds", "7", "--storm", "100000"}},
    };
    // Each notify strategy, also if it is not the provider's default.
    for (const char* notify : {"immediate", "ordered", "delivery", "cells"}) {
        all.push_back({std::string("notify_") + notify,
                       two_nodes,
                       few_rounds,
                       {std::string("WEFT_NOTIFY=") + notify},
                       std::string_view(notify) == "delivery",
                       "tcp;ofi_rxm"});
    }
    for (const char* provider : {"tcp;ofi_rxm", "net", "tcp", "shm", "udp;ofi_rxd", "sockets"}) {
        const bool slow = std::string_view(provider) == "sockets";
        const bool in_short_form = std::string_view(provider) == "shm";
        const std::string storm = slow ? "100" : long_forms() ? "100000" : "2000";
        const Words program{"--rounds", slow ? "7" : "20", "--storm", storm};
        all.push_back(
            {"provider_" + as_name(provider), two_nodes, program, {}, in_short_form, provider});
        all.push_back(
            {"mixed_" + as_name(provider), {"--layout", "2,1"}, program, {}, false, provider});
    }
    return all;
}

class LitmusTest : public testing::TestWithParam<LitmusRun> {};

TEST_P(LitmusTest, EveryReadReturnsAnAllowedValue) {
    const LitmusRun& launch = GetParam();
    if (!launch.in_short_form && !long_forms()) GTEST_SKIP() << "only in the long form";
    Words program{rank_program("litmus")};
    program.insert(program.end(), launch.program.begin(), launch.program.end());
    Words settings = launch.settings;
    if (!launch.provider.empty()) settings.push_back("WEFT_PROVIDER=" + launch.provider);
    const Outcome outcome = run_ranks(launch.options, program, settings);
    if (outcome.errors.find("offers no provider") != std::string::npos)
        GTEST_SKIP() << launch.provider << " is not available";
    if (outcome.errors.find("does not promise") != std::string::npos)
        GTEST_SKIP() << launch.provider << " does not promise that";
    EXPECT_EQ(outcome.errors, "");
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    const auto report = lab::read_json(outcome.output);
    EXPECT_EQ(report.at("checked").size(), 12U) << "litmus.cpp has 12 tests";
    for (const auto& [test, compared] : report.at("checked").items())
        EXPECT_GT(compared, 0) << test;
}

TEST(LitmusReportTest, ALongWaitIsReported) {
    const Outcome outcome = run_ranks({"-n", "2", "--timeout", "4"},
                                      {rank_program("litmus"), "--stuck", "1"}, {"WEFT_TIMEOUT=1"});
    EXPECT_EQ(outcome.status, 124);
    EXPECT_NE(outcome.errors.find("weft: rank 0: wait_until word 0x"), std::string::npos)
        << outcome.errors;
    EXPECT_NE(outcome.errors.find(">= 5 (is 4)"), std::string::npos) << outcome.errors;
}

INSTANTIATE_TEST_SUITE_P(Launches, LitmusTest, testing::ValuesIn(runs()),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace weft::test
