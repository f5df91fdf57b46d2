// SPDX-License-Identifier: BSD-3-Clause
// Goal: collectives give right results with each kind of layout and with another launcher. Method:
// run collective_matrix.cpp; its report must have calls of each kind.
#include <gtest/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "base/element_types.hpp"
#include "collectives/registry.hpp"
#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

/// Returns the launches. Jobs of more than 9 ranks take the longest, so without long_forms() there
/// is only one: 12 ranks on one node. Model tests verify the schedules of other sizes.
std::vector<Launch> launches() {
    std::vector<Launch> all;
    for (int n = 1; n <= 16; ++n) {
        if (n > 9 && n != 12 && !long_forms()) continue;
        all.push_back(launch_of(n, 1));
        if (n == 2 || n == 3 || n == 5 || n == 8 || (long_forms() && n > 1))
            all.push_back(launch_of(n, n));
    }
    all.push_back(launch_with_layout({3, 1, 4}));
    all.push_back(launch_with_layout({3, 3, 3}));
    if (long_forms()) all.push_back(launch_with_layout({5, 5, 5}));
    all.push_back({.name = "mpirun", .ranks = 4});
    all.push_back(
        {.name = "mpirun_regrouped", .ranks = 4, .nodes = 2, .settings = {"WEFT_NODES=2"}});
    return all;
}

class MatrixTest : public testing::TestWithParam<Launch> {};

/// Checks that the report has calls of each algorithm, type and family of schedules. A family
/// exists from a smallest number of ranks on: 3 for a split (2 ranks, and 1 whose data they carry),
/// 4 for a nested schedule (a split inside the level of a split), 5 for a merge (2*2 ranks and 1
/// remainder).
void expect_full_cover(const lab::Json& report, int ranks, bool even_nodes) {
    const auto calls_of = [&](const char* group, const char* name) {
        return report.at(group).value(name, 0);
    };
    for (const auto& [family, ranks_min] : {std::pair{"default", 1},
                                            {"doubling", 1},
                                            {"factored", 2},
                                            {"split", 3},
                                            {"nested", 4},
                                            {"merged", 5}}) {
        EXPECT_EQ(calls_of("schedules", family) > 0, ranks >= ranks_min) << family;
    }
    for (const std::string_view collective : collectives::collectives()) {
        for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
            if (algorithm.collective != collective || algorithm.properties.notation) continue;
            if (algorithm.properties.direct && calls_of("access", "direct") == 0) continue;
            const bool expected = (!algorithm.properties.power_of_two ||
                                   std::has_single_bit(static_cast<unsigned>(ranks))) &&
                                  (!algorithm.properties.even_nodes || even_nodes);
            if (collective == "barrier" && algorithm.name == "multiplying" && ranks == 1)
                continue;  // it has no stage
            EXPECT_EQ(calls_of(collective.data(), algorithm.name.data()) > 0, expected)
                << collective << ' ' << algorithm.name;
        }
    }
    for (int type = 0; type < kBuiltinTypes; ++type) {
        const std::string name(base::name_of(static_cast<Type>(type)));
        EXPECT_GT(calls_of("calls", name.c_str()), 0) << name;
    }
    for (const char* what : {"user", "commutative user", "in_place", "separate", "unaligned"})
        EXPECT_GT(calls_of("calls", what), 0) << what;
    EXPECT_EQ(report.at("bytes_min"), 0);
    EXPECT_EQ(report.at("bytes_max"), 4 << 20);
    EXPECT_GT(report.at("checked"), 400);
    EXPECT_EQ(report.at("wrong"), 0);
}

TEST_P(MatrixTest, EveryCallAgreesWithASerialFold) {
    const Launch& launch = GetParam();
    Words program{rank_program("collective_matrix")};
    if (long_forms()) program.emplace_back("--full");
    const std::optional<Outcome> outcome = run_launch(launch, program);
    if (!outcome) GTEST_SKIP() << "mpirun is not installed";
    if (!launch.options.empty()) {
        EXPECT_EQ(outcome->errors, "");
    }
    ASSERT_EQ(outcome->status, 0) << outcome->errors;
    const auto report = lab::read_json(outcome->output);
    EXPECT_EQ(report.at("ranks"), launch.ranks);
    EXPECT_EQ(report.at("nodes"), launch.nodes);
    expect_full_cover(report, launch.ranks, launch.ranks % launch.nodes == 0);
}

INSTANTIATE_TEST_SUITE_P(Launches, MatrixTest, testing::ValuesIn(launches()),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace weft::test
