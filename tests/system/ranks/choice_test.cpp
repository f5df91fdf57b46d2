// SPDX-License-Identifier: BSD-3-Clause
// Goal: all ranks choose the algorithm that `weft explain` prints, and use forced algorithms.
// Method: run choice.cpp with several layouts; compare the output of the ranks and of the command.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

using lab::Json;

/// Returns the reports of all ranks of choice.cpp.
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

/// Returns the algorithm that `weft explain` prints.
std::string explained(const std::string& collective, const std::string& bytes, int ranks, int nodes,
                      const std::string& provider, const Words& more = {}) {
    Words command{std::string(RANK_PROGRAMS) + "/weft",
                  "explain",
                  collective,
                  "--bytes",
                  bytes,
                  "--ranks",
                  std::to_string(ranks),
                  "--nodes",
                  std::to_string(nodes),
                  "--provider",
                  provider,
                  "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const Outcome outcome = run_command(command, {});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return lab::read_json(outcome.output).at("chosen").get<std::string>();
}

TEST(Choice, AllRanksMakeTheChoiceThatExplainPrints) {
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
                EXPECT_EQ(algorithm, explained(collective, bytes, ranks, nodes,
                                               first.at("provider").get<std::string>()))
                    << collective << " of " << bytes << " on " << nodes << " nodes";
        }
    }
}

/// With built-in costs, peers access long buffers in place. A file with high costs for this must
/// change the choice on all ranks and in the command.
TEST(Choice, CostsFromAFileApplyToJobsAndExplain) {
    const std::string path = testing::TempDir() + "weft_choice_costs";
    std::ofstream(path) << "mapped_ns 1000000\nmapped_ns_per_byte 10\n";
    const std::vector<Json> usual = reports(3, 1, {});
    const std::vector<Json> changed = reports(3, 1, {"WEFT_PARAMETERS=" + path});
    ASSERT_FALSE(usual.empty() || changed.empty());
    for (const char* collective : {"broadcast", "allreduce"}) {
        EXPECT_EQ(usual.front().at(collective).at("1048576"), "mapped");
        for (const Json& report : changed) {
            const auto algorithm = report.at(collective).at("1048576").get<std::string>();
            EXPECT_NE(algorithm, "mapped") << report.at("rank");
            EXPECT_EQ(algorithm,
                      explained(collective, "1048576", 3, 1, "none", {"--params", path}));
        }
    }
    std::remove(path.c_str());
}

TEST(Choice, AForcedAlgorithmIsUsed) {
    for (const Json& report : reports(4, 1, {"WEFT_ALLREDUCE=a2,a2"})) {
        for (const auto& [bytes, algorithm] : report.at("allreduce").items())
            EXPECT_EQ(algorithm, "a2,a2") << bytes;
    }
}

}  // namespace
}  // namespace weft::test
