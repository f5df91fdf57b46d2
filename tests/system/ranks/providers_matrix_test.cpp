// SPDX-License-Identifier: BSD-3-Clause
// Goal: with each notify strategy that a provider promises, collectives give right results, and
// each other strategy is refused at start-up with its reason. Method: run collective_matrix.cpp
// with each available provider; a job runs all promised strategies. The table kProviders has the
// expected promises. The short form samples pairs of schedules and shapes; WEFT_TESTS_FULL=1 runs
// all of them with all layouts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "link/fabric/profile.hpp"
#include "tests/system/ranks/leftovers.hpp"
#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

/// A provider and the notify strategies that it promises.
struct ProviderCase {
    std::string provider;
    Words promised;
    Words refused;
    Launch launch;  ///< for the short form
};

const ProviderCase kProviders[] = {
    {"tcp;ofi_rxm",
     {"cells", "immediate", "delivery", "ordered"},
     {"fence"},
     launch_with_layout({2, 1, 2})},
    {"net", {"cells", "immediate", "delivery", "ordered"}, {"fence"}, launch_of(4, 4)},
    {"tcp", {"cells", "immediate", "delivery", "ordered"}, {"fence"}, launch_of(4, 4)},
    {"shm", {"cells", "immediate", "delivery", "ordered"}, {"fence"}, launch_of(5, 5)},
    {"udp;ofi_rxd", {"cells", "immediate", "delivery"}, {"fence", "ordered"}, launch_of(3, 3)},
    {"sockets",
     {"immediate", "delivery", "fence", "counter"},
     {"cells", "ordered"},
     launch_of(2, 2)},
};

const Launch kFullLaunches[] = {launch_of(2, 2), launch_of(4, 2), launch_of(5, 5),
                                launch_with_layout({3, 1, 4})};

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
}

/// Returns true if libfabric has this exact provider; `tcp` changed its meaning with 1.18.
bool is_available(const std::string& provider) {
    static const lab::Json info =
        lab::read_json(run_command({RANK_PROGRAMS "/weft", "info", "--json"}).output);
    for (const lab::Json& row : info.at("providers"))
        if (row.at("provider") == provider) return row.at("offered").get<bool>();
    return false;
}

void PrintTo(const ProviderCase& tested, std::ostream* out) {
    *out << tested.provider;
}

class ProviderMatrix : public testing::TestWithParam<ProviderCase> {
  protected:
    void SetUp() override {
        if (!is_available(GetParam().provider))
            GTEST_SKIP() << "libfabric has no provider " << GetParam().provider;
    }
    /// Runs the matrix with a layout. `depth` is --sample or empty.
    void run(const Launch& launch, const char* depth) {
        const ProviderCase& tested = GetParam();
        Words program{rank_program("collective_matrix"), "--notify", joined(tested.promised)};
        if (*depth != 0) program.emplace_back(depth);
        const Outcome outcome =
            run_ranks(launch.options, program, {"WEFT_PROVIDER=" + tested.provider});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(outcome.errors, "");
        std::istringstream lines(outcome.output);
        std::size_t reports = 0;
        for (std::string line; std::getline(lines, line); ++reports) {
            const auto report = lab::read_json(line);
            const auto notify = report.at("notify").get<std::string>();
            EXPECT_EQ(report.at("provider"), tested.provider);
            EXPECT_EQ(report.at("ranks"), launch.ranks);
            EXPECT_EQ(report.at("nodes"), launch.nodes);
            EXPECT_EQ(report.at("wrong"), 0);
            EXPECT_GT(report.at("checked"), 100);
            EXPECT_GT(report.at("writes"), 1000);  // puts over the network
            if (reports < tested.promised.size()) {
                EXPECT_EQ(notify.rfind(tested.promised[reports], 0), 0U) << notify;
            }
            fmt::print("  {}: {} on {} ranks, {} nodes: {} writes, {} results checked\n",
                       tested.provider, notify, launch.ranks, launch.nodes,
                       report.at("writes").get<int>(), report.at("checked").get<int>());
        }
        EXPECT_EQ(reports, tested.promised.size());
    }
};

TEST_P(ProviderMatrix, EveryPromisedNotifyStrategyGivesRightResults) {
    const ProviderCase& tested = GetParam();
    run(tested.launch, "--sample");
    if (!long_forms() || tested.provider == "sockets") return;  // sockets is too slow for more
    for (const Launch& launch : kFullLaunches) run(launch, "");
}

const link::Promise& promise_of(const link::Profile& profile, const std::string& notify) {
    return notify == "cells"       ? profile.cells
           : notify == "immediate" ? profile.immediate
           : notify == "delivery"  ? profile.delivery
           : notify == "fence"     ? profile.fence
           : notify == "counter"   ? profile.counter
                                   : profile.ordered;
}

TEST_P(ProviderMatrix, AnUnpromisedNotifyStrategyIsRefusedWithItsReason) {
    const ProviderCase& tested = GetParam();
    for (const std::string& notify : tested.refused) {
        const Outcome outcome =
            run_ranks({"-n", "2", "--nodes", "2"}, {rank_program("hello")},
                      {"WEFT_PROVIDER=" + tested.provider, "WEFT_NOTIFY=" + notify});
        EXPECT_NE(outcome.status, 0);
        const link::Promise& promise = promise_of(link::profile_of(tested.provider), notify);
        EXPECT_FALSE(promise.holds);
        for (const std::string& word :
             {"WEFT_NOTIFY=" + notify, tested.provider, std::string(promise.why)}) {
            EXPECT_NE(outcome.errors.find(word), std::string::npos)
                << "no \"" << word << "\" in: " << outcome.errors;
        }
        if (!long_forms()) break;
    }
}

TEST_P(ProviderMatrix, AKilledRankEndsTheJobAndLeavesNoFile) {
    const auto before = shared_files();
    const Outcome outcome = run_ranks({"-n", "3", "--nodes", "3"}, {rank_program("rank_dies")},
                                      {"WEFT_PROVIDER=" + GetParam().provider});
    EXPECT_EQ(outcome.status, 128 + SIGKILL) << outcome.errors;
    EXPECT_NE(outcome.errors.find("rank 2"), std::string::npos) << outcome.errors;
    EXPECT_EQ(new_shared_files(before), std::set<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Providers, ProviderMatrix, testing::ValuesIn(kProviders),
                         [](const auto& chosen) { return as_name(chosen.param.provider); });

}  // namespace
}  // namespace weft::test
