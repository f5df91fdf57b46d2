// SPDX-License-Identifier: BSD-3-Clause
// Goal: `weft fit` measures puts between local and remote peers, and writes a file that `weft
// explain` and jobs read. `weft tune` measures algorithms, and writes a file that jobs read.
// Method: run both commands with few ranks and few repetitions, and other commands with their
// files.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

/// Checks the passes (repeated measurements) of `weft fit`: there are three, and the parameters
/// come from the pass that is marked `taken`. They must predict the time that a put of 16 KiB took
/// in it.
void expect_passes(const lab::Json& object, const std::string& log) {
    ASSERT_EQ(object["passes"].size(), 3U) << object;
    EXPECT_NE(log.find("pass 3 of 3"), std::string::npos) << log;
    const bool has_flags = !object["passes"][0]["flag_ns"].empty();
    for (const char* kind : {"near", "far"}) {
        const auto key = [&](const char* name) {
            return object["parameters"][std::string(kind) + name].get<double>();
        };
        const double cost = key("_latency_ns") + key("_issue_ns") + key("_receive_ns") +
                            16384 * key("_ns_per_byte");
        int taken = 0;
        for (const lab::Json& pass : object["passes"]) {
            EXPECT_EQ(has_flags, !pass["flag_ns"].empty());
            const double measured = pass[std::string(kind) + "_ns"].get<double>();
            EXPECT_GT(measured, 0);
            const auto& kinds = pass["taken"];
            if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
            ++taken;
            // A parameter is a difference of times. On a busy machine this may be negative, is then
            // replaced by 0, and the prediction is not exact.
            const bool is_exact =
                std::min({key("_latency_ns"), key("_receive_ns"), key("_ns_per_byte")}) > 0;
            EXPECT_NEAR(cost, measured, is_exact ? 0.02 * measured + 1 : cost + measured)
                << kind << object["passes"];
        }
        EXPECT_EQ(taken, 1) << kind << object["passes"];
    }
}

TEST(FitTest, ParametersAreWrittenForOtherCommands) {
    const std::string path = testing::TempDir() + "weft_fit.json";
    const std::string weft = std::string(RANK_PROGRAMS) + "/weft";
    const Outcome fitted = run_ranks(
        {"-n", "5", "--nodes", "2"},
        {weft, "fit", "--repetitions", "20", "--passes", "3", "--pause", "0.1", "--output", path});
    ASSERT_EQ(fitted.status, 0) << fitted.errors;
    EXPECT_NE(fitted.output.find("alpha_r"), std::string::npos) << fitted.output;
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const lab::Json object = lab::read_json(text);
    ASSERT_TRUE(object.is_object()) << text;
    EXPECT_EQ(object["schema"], "weft-parameters-1");
    EXPECT_EQ(object["nodes"], 2);
    for (const char* key : {"near_issue_ns",
                            "far_issue_ns",
                            "far_ns_per_byte",
                            "mapped_ns",
                            "mapped_ns_per_byte",
                            "kernel_ns",
                            "kernel_ns_per_byte",
                            "near_turn_ns",
                            "far_turn_ns",
                            "adopt_ns",
                            "adopt_ns_per_page",
                            "window_ns",
                            "window_ns_per_page",
                            "near_slot_ns",
                            "far_slot_ns",
                            "call_ns",
                            "reduce_ns_per_byte",
                            "mapped_reduce_ns_per_byte",
                            "far_receive_ns_per_byte",
                            "copy_ns_per_byte",
                            "cold_ns_per_byte",
                            "cache_bytes",
                            "unpack_ns_per_byte",
                            "expose_ns"})
        EXPECT_GE(object["parameters"][key].get<double>(), 0) << key;
    for (const char* key : {"near_issue_ns", "far_issue_ns", "call_ns", "mapped_ns_per_byte"})
        EXPECT_GT(object["parameters"][key].get<double>(), 0) << key;
    // A put to a remote peer takes longer than one to a local peer.
    EXPECT_GT(object["parameters"]["far_latency_ns"].get<double>() +
                  object["parameters"]["far_issue_ns"].get<double>(),
              object["parameters"]["near_issue_ns"].get<double>());
    // Puts to one and two peers, local and remote, blocking and not; each has two times.
    ASSERT_EQ(object["multicasts"].size(), 8U);
    for (const lab::Json& multicast : object["multicasts"]) {
        EXPECT_EQ(multicast["times"].size(), 2U);
        EXPECT_GE(multicast["times"][0]["median_us"], multicast["times"][0]["min_us"]);
    }
    expect_passes(object, fitted.errors);
    const Outcome explained = run_ranks({"-n", "1"}, {weft, "explain", "allreduce", "--ranks", "6",
                                                      "--nodes", "2", "--params", path});
    EXPECT_EQ(explained.status, 0) << explained.errors;
    EXPECT_NE(explained.output.find("least predicted time"), std::string::npos);
    const Outcome read = run_ranks({"-n", "2"}, {weft, "bench", "barrier", "--iterations", "5"},
                                   {"WEFT_PARAMETERS=" + path});
    EXPECT_EQ(read.status, 0) << read.errors;
    std::remove(path.c_str());
}

/// Binds each rank to a processor, as some launchers do. The parameter near_turn_ns then has its
/// built-in value, 900.
TEST(FitTest, TurnsAreNotMeasuredForBoundRanks) {
    cpu_set_t usable;
    ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
    if (CPU_COUNT(&usable) < 2) GTEST_SKIP() << "one processor";
    std::vector<std::string> processors;
    for (int processor = 0; processor < CPU_SETSIZE && processors.size() < 2; ++processor)
        if (CPU_ISSET(processor, &usable)) processors.push_back(std::to_string(processor));
    const std::string path = testing::TempDir() + "weft_fit_bound.json";
    const std::string fit =
        std::string(RANK_PROGRAMS) + "/weft fit --repetitions 5 --passes 1 --output " + path;
    // Ranks 0 and 2 share a processor; rank 1 has the other one.
    const Outcome fitted = run_ranks(
        {"-n", "3"}, {"sh", "-c",
                      "if [ $PMIX_RANK = 1 ]; then c=" + processors[1] +
                          "; else c=" + processors[0] + "; fi; exec taskset -c $c " + fit});
    ASSERT_EQ(fitted.status, 0) << fitted.errors;
    EXPECT_NE(fitted.output.find("near turns: not measured"), std::string::npos) << fitted.output;
    std::ifstream file(path);
    const lab::Json object = lab::read_json({std::istreambuf_iterator<char>(file), {}});
    EXPECT_EQ(object["parameters"]["near_turn_ns"], 900);
    EXPECT_EQ(object["turns"][0]["bound"], true);
    std::remove(path.c_str());
}

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
}

/// Runs two ranks with a file of measured choices. Returns the log, which has the choice for
/// allreduce.
std::string log_with(const std::string& path) {
    const std::string weft = std::string(RANK_PROGRAMS) + "/weft";
    const Outcome bench =
        run_ranks({"-n", "2"}, {weft, "bench", "allreduce", "--bytes", "64", "--iterations", "5"},
                  {"WEFT_TUNING=" + path, "WEFT_LOG=info"});
    EXPECT_EQ(bench.status, 0) << bench.errors;
    return bench.errors;
}

TEST(TuneTest, AFileGrowsAndJobsPreferItsChoices) {
    const std::string path = testing::TempDir() + "weft_tune.json";
    std::remove(path.c_str());
    const std::string weft = std::string(RANK_PROGRAMS) + "/weft";
    const auto tune = [&](const Words& more) {
        Words command{weft, "tune", "--output", path, "--seconds", "0.05", "--candidates", "3"};
        command.insert(command.end(), more.begin(), more.end());
        const Outcome outcome = run_command(command);
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        return outcome.output;
    };
    EXPECT_NE(tune({"allreduce", "--bytes", "64", "--ranks", "2"}).find("allreduce"),
              std::string::npos);
    EXPECT_EQ(tune({"allreduce", "--bytes", "64", "--ranks", "2"}), "")
        << "a case in the file is measured again";
    tune({"barrier", "--layout", "1,2"});
    lab::Json object = lab::read_json(text_of(path));
    ASSERT_EQ(object["points"].size(), 2U) << object;
    ASSERT_EQ(object["choices"].size(), 2U) << object;
    EXPECT_EQ(object["choices"][1]["layout"], "1,2");
    EXPECT_GT(object["points"][0]["tried"].size(), 1U);
    EXPECT_GE(object["points"][0]["regret_of_model"].get<double>(), 1.0);
    EXPECT_EQ(object["points"][0]["jobs"], 3);
    for (const lab::Json& tried : object["points"][0]["tried"])
        EXPECT_EQ(tried["jobs_us"].size(), 3U) << tried;
    EXPECT_NE(log_with(path).find("measured (" + path), std::string::npos) << log_with(path);
    object["choices"][0]["algorithm"] = "reduce-broadcast";
    write(path, object.dump());
    EXPECT_NE(log_with(path).find("by reduce-broadcast: measured"), std::string::npos)
        << log_with(path);
    std::remove(path.c_str());
}

TEST(TuneTest, TheFastestAlgorithmOverAllJobsIsChosen) {
    const std::string path = testing::TempDir() + "weft_tune_jobs.json";
    std::remove(path.c_str());
    const std::string weft = std::string(RANK_PROGRAMS) + "/weft";
    const auto tune = [&](const char* jobs) {
        const Outcome outcome =
            run_command({weft, "tune", "allreduce", "--bytes", "64", "--ranks", "2", "--output",
                         path, "--seconds", "0.05", "--candidates", "3", "--jobs", jobs});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        return lab::read_json(text_of(path));
    };
    lab::Json object = tune("2");
    ASSERT_EQ(object["points"][0]["jobs"], 2) << object;
    // In the first job of the changed file, the last candidate is much faster than the others.
    lab::Json& tried = object["points"][0]["tried"];
    ASSERT_GT(tried.size(), 1U);
    for (lab::Json& entry : tried) entry["jobs_us"][0] = &entry == &tried.back() ? 0.001 : 1.0;
    const lab::Json fastest = tried.back()["algorithm"];
    write(path, object.dump());
    object = tune("3");
    EXPECT_EQ(object["points"][0]["jobs"], 3);
    EXPECT_EQ(object["points"][0]["algorithm"], fastest) << object;
    write(path, R"({"schema": "weft-tuning-1", "choices": [], "points": [{"collective": "barrier",
        "layout": "2", "provider": "none", "algorithm": "a2", "bytes": 0, "median_us": 1,
        "tried": [{"algorithm": "a2", "jobs_us": ["quick"]}]}]})");
    const Outcome refused =
        run_command({weft, "tune", "barrier", "--ranks", "2", "--output", path});
    EXPECT_EQ(refused.status, 2) << "\"quick\" is not a time: " << refused.errors;
    std::remove(path.c_str());
}

TEST(TuneTest, RanksWithDifferentFilesAreRefused) {
    const std::string folder = testing::TempDir();
    const std::string weft = std::string(RANK_PROGRAMS) + "/weft";
    // The files differ by a space; the first has 42 bytes. In the script, $0 is the number of
    // different files, 1 or 2.
    write(folder + "weft_tune_0.json", R"({"schema": "weft-tuning-1", "choices": []})");
    write(folder + "weft_tune_1.json", R"({"schema": "weft-tuning-1",  "choices": []})");
    const std::string script = "WEFT_TUNING=" + folder +
                               "weft_tune_$((PMIX_RANK % $0)).json exec " + weft +
                               " bench barrier --iterations 5";
    const Outcome same = run_ranks({"-n", "2"}, {"/bin/sh", "-c", script, "1"});
    EXPECT_EQ(same.status, 0) << same.errors;
    const Outcome different = run_ranks({"-n", "2"}, {"/bin/sh", "-c", script, "2"});
    EXPECT_NE(different.status, 0);
    EXPECT_NE(different.errors.find("42 bytes with digest"), std::string::npos) << different.errors;
    const Outcome missing =
        run_ranks({"-n", "2"}, {weft, "bench", "barrier"}, {"WEFT_TUNING=/gone"});
    EXPECT_NE(missing.errors.find("WEFT_TUNING: /gone cannot be read"), std::string::npos)
        << missing.errors;
    std::remove((folder + "weft_tune_0.json").c_str());
    std::remove((folder + "weft_tune_1.json").c_str());
}

}  // namespace
}  // namespace weft::test
