// SPDX-License-Identifier: BSD-3-Clause
// Goal: all ranks choose the algorithm that `weft explain` prints, and use forced algorithms.
// Method: run choice.cpp with several layouts; compare the output of the ranks and of the command.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

using lab::Json;

/// Runs choice.cpp and returns the reports of all ranks.
std::vector<Json> run_choice_job(int ranks, int nodes, const Words& settings) {
    const Outcome outcome =
        run_ranks({"-n", std::to_string(ranks), "--nodes", std::to_string(nodes)},
                  {rank_program("choice")}, settings);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    std::vector<Json> reports;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) reports.push_back(lab::read_json(line));
    EXPECT_EQ(reports.size(), static_cast<std::size_t>(ranks));
    return reports;
}

/// Returns the algorithm that `weft explain` prints.
std::string chosen_by_explain(const std::string& collective, const std::string& bytes, int ranks,
                              int nodes, const std::string& provider, const Words& options = {}) {
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
    command.insert(command.end(), options.begin(), options.end());
    const Outcome outcome = run_command(command, {});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return lab::read_json(outcome.output).at("chosen").get<std::string>();
}

TEST(Choice, AllRanksMakeTheChoiceThatExplainPrints) {
    for (const auto& [ranks, nodes] : {std::pair{3, 1}, {5, 2}, {4, 4}}) {
        const std::vector<Json> reports = run_choice_job(ranks, nodes, {});
        ASSERT_FALSE(reports.empty());
        const Json& first = reports.front();
        for (const Json& report : reports) {
            for (const char* collective : {"barrier", "broadcast", "allreduce"})
                EXPECT_EQ(report.at(collective), first.at(collective))
                    << collective << " on rank " << report.at("rank") << " of " << ranks;
        }
        for (const char* collective : {"barrier", "broadcast", "allreduce"}) {
            for (const auto& [bytes, algorithm] : first.at(collective).items())
                EXPECT_EQ(algorithm, chosen_by_explain(collective, bytes, ranks, nodes,
                                                       first.at("provider").get<std::string>()))
                    << collective << ", " << bytes << " bytes, " << ranks << " ranks on " << nodes
                    << " nodes";
        }
    }
}

/// With built-in costs, peers access long buffers in place. A file with high costs for this must
/// change the choice on all ranks and in the command.
TEST(Choice, CostsFromAFileApplyToJobsAndExplain) {
    const std::string path = testing::TempDir() + fmt::format("weft_choice_costs_{}", ::getpid());
    ASSERT_TRUE(std::ofstream(path) << "mapped_ns 1000000\nmapped_ns_per_byte 10\n" << std::flush);
    const std::vector<Json> usual = run_choice_job(3, 1, {});
    const std::vector<Json> changed = run_choice_job(3, 1, {"WEFT_PARAMETERS=" + path});
    ASSERT_FALSE(usual.empty() || changed.empty());
    for (const char* collective : {"broadcast", "allreduce"}) {
        EXPECT_EQ(usual.front().at(collective).at("1048576"), "mapped");
        for (const Json& report : changed) {
            const auto algorithm = report.at(collective).at("1048576").get<std::string>();
            EXPECT_NE(algorithm, "mapped")
                << collective << " on rank " << report.at("rank") << " of 3";
            EXPECT_EQ(algorithm,
                      chosen_by_explain(collective, "1048576", 3, 1, "none", {"--params", path}));
        }
    }
    std::remove(path.c_str());
}

TEST(Choice, AForcedAlgorithmIsUsed) {
    for (const Json& report : run_choice_job(4, 1, {"WEFT_ALLREDUCE=a2,a2"})) {
        for (const auto& [bytes, algorithm] : report.at("allreduce").items())
            EXPECT_EQ(algorithm, "a2,a2") << bytes;
    }
}

}  // namespace
}  // namespace weft::test
