// SPDX-License-Identifier: BSD-3-Clause
// Goal: all ranks make the same choice, as `weft explain` says, and what is forced stays forced.
// Method: launch choice.cpp over some layouts, compare what the ranks print with each other and
// with the command.
#include <gtest/gtest.h>

#include <sstream>

#include "lab/program/json.hpp"
#include "tests/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

using lab::Json;

std::vector<Json> reports(int ranks, int nodes, const Words& settings) {
    const Outcome outcome =
        run_ranks({"-n", std::to_string(ranks), "--nodes", std::to_string(nodes)},
                  {rank_program("choice")}, settings);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    std::vector<Json> all;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) all.push_back(lab::read_json(line));
    EXPECT_EQ(all.size(), static_cast<std::size_t>(ranks));
    return all;
}

std::string explained(const std::string& collective, const std::string& bytes, int ranks, int nodes,
                      const std::string& provider) {
    const Outcome outcome = run_command(
        {std::string(RANK_PROGRAMS) + "/weft", "explain", collective, "--bytes", bytes, "--ranks",
         std::to_string(ranks), "--nodes", std::to_string(nodes), "--provider", provider, "--json"},
        {});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return lab::read_json(outcome.output).at("chosen");
}

TEST(Choice, IsAlikeOnAllRanksAndAsExplained) {
    for (const auto& [ranks, nodes] : {std::pair{3, 1}, {5, 2}, {4, 4}}) {
        const std::vector<Json> all = reports(ranks, nodes, {});
        ASSERT_FALSE(all.empty());
        const Json& first = all.front();
        for (const Json& report : all) {
            for (const char* collective : {"barrier", "broadcast", "allreduce"})
                EXPECT_EQ(report.at(collective), first.at(collective)) << report.at("rank");
        }
        for (const char* collective : {"barrier", "broadcast", "allreduce"}) {
            for (const auto& [bytes, algorithm] : first.at(collective).items())
                EXPECT_EQ(algorithm,
                          explained(collective, bytes, ranks, nodes, first.at("provider")))
                    << collective << " of " << bytes << " on " << nodes << " nodes";
        }
    }
}

TEST(Choice, WhatIsForcedIsUsed) {
    for (const Json& report : reports(4, 1, {"WEFT_ALLREDUCE=a2,a2"})) {
        for (const auto& [bytes, algorithm] : report.at("allreduce").items())
            EXPECT_EQ(algorithm, "a2,a2") << bytes;
    }
}

}  // namespace
}  // namespace weft::test
