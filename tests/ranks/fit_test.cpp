// SPDX-License-Identifier: BSD-3-Clause
// Goal: `weft fit` measures near and far puts of a job and writes a file that `weft explain` reads.
// Method: five ranks on two nodes with few repetitions.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "lab/program/json.hpp"
#include "tests/ranks/ranks_job.hpp"

namespace weft::test {
namespace {

TEST(FitTest, WritesAFileOfParametersThatOtherCommandsRead) {
    const std::string path = testing::TempDir() + "weft_fit.json";
    const std::string weft = std::string(RANK_PROGRAMS) + "/weft";
    const Outcome fitted = run_ranks({"-n", "5", "--nodes", "2"},
                                     {weft, "fit", "--repetitions", "20", "--output", path});
    ASSERT_EQ(fitted.status, 0) << fitted.errors;
    EXPECT_NE(fitted.output.find("alpha_r"), std::string::npos) << fitted.output;
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const lab::Json object = lab::read_json(text);
    ASSERT_TRUE(object.is_object()) << text;
    EXPECT_EQ(object["schema"], "weft-parameters-1");
    EXPECT_EQ(object["nodes"], 2);
    for (const char* key : {"near_issue_ns", "far_issue_ns", "far_ns_per_byte", "mapped_ns",
                            "mapped_ns_per_byte", "kernel_ns", "kernel_ns_per_byte"})
        EXPECT_GE(object["parameters"][key].get<double>(), 0) << key;
    EXPECT_GT(object["parameters"]["far_latency_ns"].get<double>() +
                  object["parameters"]["far_issue_ns"].get<double>(),
              object["parameters"]["near_issue_ns"].get<double>());
    // Two peers near and two far; blocking and not; issued and landed.
    ASSERT_EQ(object["multicasts"].size(), 8U);
    for (const lab::Json& multicast : object["multicasts"]) {
        EXPECT_EQ(multicast["times"].size(), 2U);
        EXPECT_GE(multicast["times"][0]["median_us"], multicast["times"][0]["min_us"]);
    }
    const Outcome explained = run_ranks({"-n", "1"}, {weft, "explain", "allreduce", "--ranks", "6",
                                                      "--nodes", "2", "--params", path});
    EXPECT_EQ(explained.status, 0) << explained.errors;
    EXPECT_NE(explained.output.find("least predicted time"), std::string::npos);
    std::remove(path.c_str());
}

}  // namespace
}  // namespace weft::test
