// SPDX-License-Identifier: BSD-3-Clause
// Goal: `weft bench` times the requested calls, prints the documented fields, checks results, and
// refuses invalid requests with one line. Method: run it as a job with few iterations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

using lab::Json;

/// Runs: weft run RANKS -- weft bench WORDS
Outcome run_bench(const Words& ranks, const Words& words) {
    Words command{std::string(RANK_PROGRAMS) + "/weft", "bench"};
    command.insert(command.end(), words.begin(), words.end());
    return run_ranks(ranks, command);
}

/// Returns the object that a bench prints. The bench must succeed and have no other output.
Json object_of(const Words& ranks, Words words) {
    words.insert(words.end(), {"--iterations", "40", "--json"});
    const Outcome outcome = run_bench(ranks, words);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(std::ranges::count(outcome.output, '\n'), 1) << outcome.output;
    const Json object = lab::read_json(outcome.output);
    EXPECT_TRUE(object.is_object()) << outcome.output;
    return object;
}

std::vector<std::string> names_in(const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
}

int occurrences(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// Fields of each result.
const Words kResultFields{"algorithm", "bytes",       "iterations",  "min_us",
                          "median_us", "p99_us",      "max_us",      "stddev_us",
                          "checked",   "rank_min_us", "rank_avg_us", "rank_max_us"};

class BenchTest : public testing::TestWithParam<std::tuple<std::string, Launch>> {};

TEST_P(BenchTest, OneObjectWithTheDocumentedFieldsIsPrinted) {
    const auto& [collective, launch] = GetParam();
    const Json object = object_of(launch.options, {collective, "--bytes", "8,1K"});
    ASSERT_EQ(names_in(object),
              (std::vector<std::string>{"collective", "ranks", "nodes", "provider", "notify",
                                        "type", "op", "loop", "buffers", "counts", "delay_ns",
                                        "calibrator_ns", "results"}));
    EXPECT_EQ(object["collective"], collective);
    EXPECT_EQ(object["ranks"], 2);
    EXPECT_EQ(object["nodes"], launch.nodes);
    EXPECT_EQ(object["provider"] == "none", launch.nodes == 1) << object["provider"];
    EXPECT_EQ(object["notify"] == "none", launch.nodes == 1) << object["notify"];
    EXPECT_EQ(object["type"], "double");
    EXPECT_EQ(object["op"], collective == "allreduce" ? "sum" : "none");
    EXPECT_EQ(object["loop"], "back-to-back");
    EXPECT_GT(object["calibrator_ns"], 0);
    const Json& results = object["results"];
    ASSERT_EQ(results.size(), collective == "barrier" ? 1U : 2U);
    for (const Json& row : results) {
        ASSERT_EQ(names_in(row), collective == "barrier"
                                     ? kResultFields
                                     : joined(kResultFields, {"algorithm_bandwidth_bytes_per_s",
                                                              "bus_bandwidth_bytes_per_s"}));
        EXPECT_NE(row["algorithm"], "");
        EXPECT_EQ(row["iterations"], 40);
        EXPECT_GT(row["min_us"], 0);
        EXPECT_LE(row["min_us"], row["median_us"]);
        EXPECT_LE(row["median_us"], row["p99_us"]);
        EXPECT_LE(row["p99_us"], row["max_us"]);
        EXPECT_EQ(row["checked"], true);
        EXPECT_LE(row["rank_min_us"], row["rank_avg_us"]);
        EXPECT_LE(row["rank_avg_us"], row["rank_max_us"]);
        if (collective == "barrier") continue;
        const double seconds = row["median_us"].get<double>() * 1e-6;
        const auto bytes = row["bytes"].get<double>();
        EXPECT_NEAR(row["bus_bandwidth_bytes_per_s"].get<double>() * seconds, bytes, 1e-6);
    }
    EXPECT_EQ(results.front()["bytes"], collective == "barrier" ? 0 : 8);
    EXPECT_EQ(results.back()["bytes"], collective == "barrier" ? 0 : 1024);
}

INSTANTIATE_TEST_SUITE_P(Calls, BenchTest,
                         testing::Combine(testing::Values("barrier", "broadcast", "allreduce"),
                                          testing::Values(launch_of(2, 1), launch_of(2, 2))),
                         [](const auto& chosen) {
                             return fmt::format("{}_{}_node", std::get<0>(chosen.param),
                                                std::get<1>(chosen.param).nodes);
                         });

class PutBenchTest : public testing::TestWithParam<std::tuple<std::string, Launch>> {};

TEST_P(PutBenchTest, RateAndBandwidthAreReported) {
    const auto& [bench, launch] = GetParam();
    const Json object = object_of(launch.options, {bench, "--bytes", "8,1K"});
    EXPECT_EQ(object["collective"], bench);
    EXPECT_EQ(object["nodes"], launch.nodes);
    EXPECT_EQ(object["type"], "none");
    const Json& results = object["results"];
    ASSERT_EQ(results.size(), 2U);
    for (const Json& row : results) {
        EXPECT_EQ(row["algorithm"], "put");
        EXPECT_EQ(row["checked"], true);
        const auto rate = row["rate_per_s"].get<double>();
        const auto median = row["median_us"].get<double>();
        EXPECT_NEAR(rate * median, 1e6, 1);
        EXPECT_NEAR(row["bandwidth_bytes_per_s"].get<double>() / rate, row["bytes"].get<double>(),
                    1e-6);
        EXPECT_GE(row["iterations"], 80);
    }
}

INSTANTIATE_TEST_SUITE_P(Calls, PutBenchTest,
                         testing::Combine(testing::Values("put-latency", "put-rate",
                                                          "put-bandwidth", "put-bandwidth-both"),
                                          testing::Values(launch_of(2, 1), launch_of(2, 2))),
                         [](const auto& chosen) {
                             return fmt::format("{}_{}_node", as_name(std::get<0>(chosen.param)),
                                                std::get<1>(chosen.param).nodes);
                         });

/// Returns the object of a bench with two calls, for tests that do not depend on times.
Json quick_object_of(const Words& ranks, const Words& words) {
    const Outcome outcome =
        run_bench(ranks, joined(words, {"--iterations", "2", "--warmup", "0", "--json"}));
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    return lab::read_json(outcome.output);
}

TEST(BenchSweepTest, TheNumberOfCallsFollowsTheSize) {
    const Json object = quick_object_of(
        {"-n", "2"}, {"broadcast", "--bytes", "8K,8200,131064,128K", "--calls-by-size"});
    std::vector<int> calls;
    for (const Json& row : object["results"]) {
        calls.push_back(row["iterations"].get<int>());
        EXPECT_GT(row["stddev_us"].get<double>(), 0);
    }
    EXPECT_EQ(calls, (std::vector<int>{10'000, 1000, 1000, 100}));
}

TEST(PutBenchTest, PutsOfAllPairsAreCounted) {
    for (const std::string bench : {"put-rate", "put-bandwidth-both"}) {
        const Words words{bench, "--bytes", "64"};
        const Json one = quick_object_of({"-n", "4"}, words);
        const Json two = quick_object_of({"-n", "4"}, joined(words, {"--pairs", "2"}));
        EXPECT_EQ(two["results"][0]["checked"], true);
        EXPECT_EQ(two["results"][0]["iterations"].get<int>(),
                  2 * one["results"][0]["iterations"].get<int>());
    }
}

/// The default sweep starts at 8 bytes; here it starts at the 16 bytes of an element.
TEST(BenchSweepTest, TheDefaultSweepCoversOneElementToFourMebibytes) {
    const Json object = quick_object_of({"-n", "2"}, {"broadcast", "--type", "double_int"});
    ASSERT_EQ(object["results"].size(), 19U);
    EXPECT_EQ(object["results"].front()["bytes"], 16);
    EXPECT_EQ(object["results"].back()["bytes"], 4 << 20);
}

TEST(BenchSweepTest, BusBandwidthFollowsTheDefinitionsOfNcclTests) {
    // Factors for 4 ranks. The bytes are a rank's block times the ranks in allgather, and the whole
    // buffer in allreduce.
    const auto factors = [](const std::string& collective) {
        const Json row = quick_object_of({"-n", "4"}, {collective, "--bytes", "1K"})["results"][0];
        const double bytes_per_s = 1024e6 / row["median_us"].get<double>();
        return std::pair(row["algorithm_bandwidth_bytes_per_s"].get<double>() / bytes_per_s,
                         row["bus_bandwidth_bytes_per_s"].get<double>() / bytes_per_s);
    };
    EXPECT_NEAR(factors("allreduce").first, 1, 1e-9);
    EXPECT_NEAR(factors("allreduce").second, 1.5, 1e-9);
    EXPECT_NEAR(factors("allgather").first, 4, 1e-9);
    EXPECT_NEAR(factors("allgather").second, 3, 1e-9);
    EXPECT_NEAR(factors("reduce").second, 1, 1e-9);
}

TEST(BenchSweepTest, BenchOutsideAJobStartsItsRanks) {
    const Words bench{RANK_PROGRAMS "/weft", "bench", "allreduce", "--bytes", "8:64:x4",
                      "--iterations",        "10",    "--json"};
    const Outcome one = run_command(bench);
    EXPECT_EQ(one.status, 0) << one.errors;
    EXPECT_EQ(lab::read_json(one.output)["ranks"], 1);
    EXPECT_NE(one.errors.find("1 rank; for more: weft bench ... -n N"), std::string::npos);
    const Outcome three = run_command(joined(bench, {"-n", "3", "--nodes", "2"}));
    EXPECT_EQ(three.status, 0) << three.errors;
    EXPECT_EQ(three.errors, "");
    const Json object = lab::read_json(three.output);
    EXPECT_EQ(object["ranks"], 3);
    EXPECT_EQ(object["nodes"], 2);
    EXPECT_EQ(object["results"].size(), 2U);
}

TEST(BenchSweepTest, ThePageIsOneFileWithPlotsAndMarksTheFastest) {
    const std::string path = testing::TempDir() + "weft_bench_page.html";
    const Outcome outcome =
        run_bench({"-n", "4"}, {"allreduce", "--bytes", "8,1K", "--algorithm", "a4", "--algorithm",
                                "a2,a2", "--iterations", "20", "--html", path});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(occurrences(outcome.output, "  quickest"), 2) << outcome.output;
    std::ifstream file(path);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(occurrences(page, "<svg"), 2);
    EXPECT_EQ(occurrences(page, "<polyline"), 4);
    EXPECT_EQ(occurrences(page, "class=\"quickest\""), 2);
    EXPECT_EQ(occurrences(page, "src="), 0) << "the page loads another file";
    std::remove(path.c_str());
}

TEST(BenchChoiceTest, AnAlgorithmSetByTheEnvironmentIsTimedAndNamed) {
    // `auto` must use the environment's algorithm also after another algorithm.
    const Json object = object_of({"-n", "4", "-x", "WEFT_ALLREDUCE=a2,a2"},
                                  {"allreduce", "--bytes", "8", "--algorithm", "auto",
                                   "--algorithm", "a4", "--algorithm", "auto"});
    ASSERT_EQ(object["results"].size(), 3U);
    EXPECT_EQ(object["results"][0]["algorithm"], "a2,a2");
    EXPECT_EQ(object["results"][1]["algorithm"], "a4");
    EXPECT_EQ(object["results"][2]["algorithm"], "a2,a2");
    const Json two =
        object_of({"-n", "2", "-x", "WEFT_ALLREDUCE=a2"}, {"allreduce", "--bytes", "8"});
    EXPECT_EQ(two["results"][0]["algorithm"], "a2");
}

TEST(BenchChoiceTest, AllIncludesNamedAndFactoredAlgorithms) {
    const Json object = object_of({"-n", "4"}, {"allreduce", "--bytes", "8", "--algorithm", "all"});
    std::set<std::string> timed;
    EXPECT_EQ(std::ranges::count_if(object["results"],
                                    [](const Json& row) { return row.contains("quickest"); }),
              1);
    for (const Json& row : object["results"]) {
        EXPECT_TRUE(timed.insert(row["algorithm"].get<std::string>()).second)
            << row["algorithm"] << " twice";
        EXPECT_EQ(row["checked"], true);
    }
    EXPECT_TRUE(timed.contains("recursive-doubling"));
    EXPECT_TRUE(timed.contains("a4"));
    EXPECT_TRUE(timed.contains("a2,a2"));
    EXPECT_TRUE(timed.contains("mapped"));
}

TEST(BenchChoiceTest, AllOmitsAlgorithmsThatCannotRunHere) {
    const Json object = object_of({"-n", "2", "-x", "WEFT_DIRECT=stage"},
                                  {"scatter", "--bytes", "8", "--algorithm", "all"});
    for (const Json& row : object["results"]) EXPECT_NE(row["algorithm"], "mapped");
    EXPECT_GE(object["results"].size(), 2U);
    const Json two_nodes =
        object_of({"-n", "2", "--nodes", "2"}, {"broadcast", "--bytes", "8", "--algorithm", "all"});
    for (const Json& row : two_nodes["results"]) EXPECT_NE(row["algorithm"], "mapped");
    EXPECT_GE(two_nodes["results"].size(), 5U);
    // For long buffers, two trees between nodes need more put targets than a bank has.
    const Outcome outcome = run_bench({"-n", "4", "--nodes", "4"},
                                      {"allreduce", "--bytes", "800K", "--algorithm", "all",
                                       "--iterations", "1", "--warmup", "0", "--batches", "1"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.errors.find("weft bench: skipped hierarchical:net=(double-tree) with 800K: "),
              std::string::npos)
        << outcome.errors;
    EXPECT_NE(outcome.output.find("binary-blocks"), std::string::npos);
}

TEST(BenchChoiceTest, RootIsUsedByRootedCollectivesOnly) {
    EXPECT_EQ(object_of({"-n", "2"},
                        {"broadcast", "--bytes", "8", "--root", "1"})["results"][0]["checked"],
              true);
    EXPECT_EQ(object_of({"-n", "2"},
                        {"allreduce", "--bytes", "8", "--root", "5"})["results"][0]["checked"],
              true);
}

TEST(BenchCallsTest, AHistogramCountsEveryIndividuallyTimedCall) {
    for (const std::string loop : {"back-to-back", "separated"}) {
        const Json object =
            object_of({"-n", "2"}, {"allreduce", "--bytes", "8", "--histogram", "--loop", loop});
        const Json& row = object["results"][0];
        EXPECT_EQ(row["calls"]["count"], 40);
        std::uint64_t sum = 0;
        for (const Json& bin : row["histogram"]) sum += bin["calls"].get<std::uint64_t>();
        EXPECT_EQ(sum, 40U);
        double last = 0;
        for (const char* field : {"min_us", "median_us", "p90_us", "p99_us", "p999_us", "max_us"}) {
            EXPECT_GE(row["calls"][field].get<double>(), last) << field;
            last = row["calls"][field].get<double>();
        }
        EXPECT_GT(last, 0);
        EXPECT_GE(row["calls"]["min_us"], row["histogram"][0]["from_us"]);
    }
    EXPECT_FALSE(object_of({"-n", "1"}, {"barrier"})["results"][0].contains("calls"));
}

TEST(BenchCallsTest, EveryTypeIsTimedAndChecked) {
    const auto operation_of = [](const std::string& type, std::size_t turn) -> std::string {
        if (type == "bool") return "lxor";
        if (type.find('_') != type.npos) return turn % 2 == 0 ? "minloc" : "maxloc";
        if (type == "cfloat" || type == "bfloat16") return "exact_sum";
        return turn % 2 == 0 ? "sum" : "prod";
    };
    const std::vector<std::string> collectives{"allreduce",      "reduce",    "scan",
                                               "reduce_scatter", "broadcast", "alltoall"};
    std::size_t turn = 0;
    for (const std::string type : {"uint8", "longdouble", "cfloat", "cdouble", "bool", "float16",
                                   "bfloat16", "float_int", "double_int", "int16_int", "int32_int",
                                   "int64_int", "longdouble_int", "double_int64", "int64_int64"}) {
        const std::string op = operation_of(type, turn);
        const Json object =
            object_of({"-n", "3"}, {collectives[turn++ % collectives.size()], "--bytes", "32,4128",
                                    "--type", type, "--op", op, "--root", "1"});
        EXPECT_EQ(object["type"], type);
        for (const Json& row : object["results"]) EXPECT_EQ(row["checked"], true) << object;
    }
}

TEST(BenchCallsTest, RotatedBuffersAreRight) {
    for (const std::string collective : {"allreduce", "broadcast"}) {
        const Json object = object_of(
            {"-n", "3"}, {collective, "--buffers", "rotated", "--bytes", "8,64K", "--root", "1"});
        EXPECT_EQ(object["buffers"], "rotated");
        for (const Json& row : object["results"]) EXPECT_EQ(row["checked"], true) << row;
    }
}

TEST(BenchCallsTest, BlocksOfDifferentSizesAreRight) {
    const std::vector<std::pair<Words, Launch>> cases{
        {{"gather", "--root", "2"}, launch_of(3, 1)},
        {{"scatter", "--root", "1", "--type", "int8"}, launch_of(4, 2)},
        {{"allgather", "--type", "float"}, launch_of(5, 1)},
        {{"alltoall", "--type", "double_int", "--op", "minloc"}, launch_of(3, 1)},
        {{"alltoall"}, launch_of(3, 3)},
        {{"reduce_scatter", "--type", "int32"}, launch_of(4, 1)},
        {{"reduce_scatter"}, launch_of(1, 1)}};
    for (const auto& [words, launch] : cases) {
        for (const char* counts : {"ragged", "same"}) {
            Words all = words;
            if (counts == std::string("same")) all[0] += "v";
            all.insert(all.end(), {"--counts", counts, "--bytes", "16,4K,256K"});
            const Json object = object_of(launch.options, all);
            EXPECT_EQ(object["collective"], words[0] + "v");
            EXPECT_EQ(object["counts"], counts);
            EXPECT_EQ(object["nodes"], launch.nodes);
            ASSERT_EQ(object["results"].size(), 3U);
            for (const Json& row : object["results"]) EXPECT_EQ(row["checked"], true) << object;
        }
    }
    const Json all = object_of(
        {"-n", "4"}, {"alltoall", "--bytes", "8", "--counts", "ragged", "--algorithm", "all"});
    EXPECT_GE(all["results"].size(), 1U);
    for (const Json& row : all["results"]) EXPECT_EQ(row["checked"], true) << row;
}

TEST(BenchColumnsTest, OsuOutputHasCommentsAndTwoColumns) {
    for (const std::string what : {"allreduce", "put-latency", "put-rate", "put-bandwidth"}) {
        const Outcome outcome =
            run_bench({"-n", "2"}, {what, "--bytes", "8,1K", "--iterations", "20", "--osu"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_EQ(outcome.errors, "") << "progress is printed although stderr is a pipe";
        std::istringstream lines(outcome.output);
        std::vector<std::string> sizes;
        int comments = 0;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("#")) {
                ++comments;
                continue;
            }
            std::istringstream words(line);
            std::string size;
            double value = 0;
            std::string more;
            words >> size >> value;
            EXPECT_GT(value, 0) << line;
            EXPECT_FALSE(words >> more) << line;
            sizes.push_back(size);
        }
        EXPECT_EQ(sizes, (std::vector<std::string>{"8", "1024"})) << outcome.output;
        EXPECT_GE(comments, 3) << outcome.output;
        EXPECT_NE(outcome.output.find("# Algorithm: "), std::string::npos) << outcome.output;
    }
}

TEST(BenchRefusalTest, InvalidArgumentsGiveStatus2AndOneLineFromOneRank) {
    const std::vector<std::pair<Words, std::string>> cases{
        {{"allreduce", "--bytes", "7"}, "--bytes: 7 is not a multiple of the 8 bytes of double"},
        {{"allreduce", "--algorithm", "a2;a2"}, "--algorithm \"a2;a2\": character 3"},
        {{"allreduce", "--algorithm", "rings"}, "has no algorithm 'rings'"},
        {{"allreduce", "--algorithm", "a3"}, "--algorithm \"a3\": character 2"},
        {{"allreduce", "--osu", "--json"}, "--osu and --json exclude each other"},
        {{"put-rate", "--buffers", "rotated"}, "--buffers: put-rate always reuses"},
        {{"allreduce", "--op", "bxor", "--type", "float"},
         "--op: bxor does not exist for float, which has sum prod"},
        {{"allreduce", "--type", "bool"}, "--op: sum does not exist for bool, which has land lor"},
        {{"allreduce", "--type", "real"}, "--type"},
        {{"allreduce", "--counts", "ragged"}, "--counts: allreduce has no form with counts"},
        {{"alltoallv", "--algorithm", "pairwise"}, "alltoallv has no algorithm 'pairwise'; it has"},
        {{"allreduce", "--bytes", "8:"}, "--bytes: entry 1 of \"8:\""},
        {{"allreduce", "-n", "3"}, "-n 3: this job has 2 ranks already"},
        {{"allreduce", "--pairs", "2"}, "--pairs is only valid with put-rate"},
        {{"put-rate", "--pairs", "2"}, "--pairs: 2 ranks have no 2 pairs, expected 1..1"},
        {{"put-rate", "--counts", "ragged"}, "--counts: put-rate has no form with counts"},
        {{"scatter", "--counts", "ragged", "--root", "2"}, "--root: 2 is not a rank"},
        {{"broadcast", "--root", "2"}, "--root: 2 is not a rank, expected 0..1"},
        {{"broadcast", "--root", "-1"}, "--root: -1 is not a rank"}};
    for (const auto& [words, complaint] : cases) {
        const Outcome outcome = run_bench({"-n", "2"}, words);
        EXPECT_EQ(outcome.status, 2) << complaint;
        EXPECT_EQ(outcome.output, "") << complaint;
        EXPECT_NE(outcome.errors.find(complaint), std::string::npos) << outcome.errors;
        EXPECT_EQ(occurrences(outcome.errors, "weft bench: "), 1) << outcome.errors;
    }
}

TEST(BenchRefusalTest, NegativeCountsAreRefused) {
    for (const std::string option : {"--iterations", "--warmup"}) {
        const Outcome outcome = run_bench({"-n", "1"}, {"barrier", option, "-3"});
        EXPECT_EQ(outcome.status, 2);
        EXPECT_NE(outcome.errors.find(option), std::string::npos) << outcome.errors;
        EXPECT_NE(outcome.errors.find("-3"), std::string::npos) << outcome.errors;
    }
}

TEST(BenchRefusalTest, BuffersLargerThanMemoryGiveStatus3) {
    if (kSanitized) GTEST_SKIP() << "the sanitizer ends a program that allocates so much";
    const Outcome outcome = run_bench({"-n", "2"}, {"allreduce", "--bytes", "4000000000G"});
    EXPECT_EQ(outcome.status, 3);
    EXPECT_NE(outcome.errors.find("not enough memory for --bytes 4294967296000000000"),
              std::string::npos)
        << outcome.errors;
    EXPECT_EQ(occurrences(outcome.errors, "weft bench: "), 1) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
