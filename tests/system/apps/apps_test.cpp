// SPDX-License-Identifier: BSD-3-Clause
// Goal: on 1..9 ranks in many layouts, with each provider and notify strategy, and under a foreign
// launcher, the applications of perf/apps get the results of a serial run.
// Method: run them with --check, which compares with a serial run; the report must have a number
// of compared values above 0. Runs with wrong results must fail. tests/unit/apps tests --check.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

constexpr const char* kMesh = RANK_PROGRAMS "/mesh_300.mtx";

/// An application with arguments for a short run.
struct App {
    std::string name;
    Words arguments;
    const char* compared;  ///< entry of the report with the number of comparisons
};

const std::vector<App>& apps() {
    static const std::vector<App> all{
        {"cg", {kMesh}, "serial_iterations"},
        {"heat", {"--rows", "37", "--columns", "53", "--steps", "61"}, "cells_compared"},
        {"table", {"--draws", "500", "--distinct", "120"}, "keys_found"},
        {"samplesort",
         {"FOLDER/in", "FOLDER/out", "--make", "2000", "--distinct", "700"},
         "records_checked"},
        {"particles", {"--particles", "700", "--steps", "9"}, "energies_compared"},
    };
    return all;
}

const App& app_named(std::string_view name) {
    return *std::ranges::find(apps(), name, &App::name);
}

/// Temporary folder for the files of one command.
class Folder {
  public:
    explicit Folder(std::string path) : path_(std::move(path)) {}
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    void empty() const {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directory(path_);
    }

  private:
    std::string path_;
};

const Folder& folder() {
    static const Folder files(testing::TempDir() + "weft_apps_" + std::to_string(::getpid()));
    return files;
}

/// Empties folder() and builds a command line; FOLDER at the start of a word becomes its path.
Words command_of(const App& app, const Words& more) {
    folder().empty();
    Words words{std::string(RANK_PROGRAMS) + "/" + app.name};
    words.insert(words.end(), app.arguments.begin(), app.arguments.end());
    words.insert(words.end(), more.begin(), more.end());
    for (std::string& word : words)
        if (word.starts_with("FOLDER")) word.replace(0, 6, folder().path());
    return words;
}

/// Returns launches: even and uneven layouts, all providers and notify strategies, other launchers.
std::vector<Launch> launches() {
    std::vector<Launch> all;
    for (int n = 1; n <= 9; ++n)
        for (int nodes = 1; nodes <= n; ++nodes) all.push_back(launch_of(n, nodes));
    all.push_back({"layout_1_6_2", 9, 3, {"--layout", "1,6,2"}});
    all.push_back({"layout_3_1_4", 8, 3, {"--layout", "3,1,4"}});
    all.push_back({"layout_1_1_4", 6, 3, {"--layout", "1,1,4"}});
    for (const char* provider : {"tcp;ofi_rxm", "net", "tcp", "shm", "udp;ofi_rxd", "sockets"})
        all.push_back({"provider_" + as_name(provider),
                       5,
                       3,
                       {"-n", "5", "--nodes", "3"},
                       {std::string("WEFT_PROVIDER=") + provider}});
    for (const char* notify : {"immediate", "ordered", "delivery", "cells"})
        all.push_back({std::string("notify_") + notify,
                       5,
                       3,
                       {"-n", "5", "--nodes", "3"},
                       {"WEFT_PROVIDER=tcp;ofi_rxm", std::string("WEFT_NOTIFY=") + notify}});
    all.push_back({"progress_thread", 4, 2, {"-n", "4", "--nodes", "2"}, {"WEFT_PROGRESS=thread"}});
    all.push_back({"mpirun", 4, 1, {}});
    all.push_back({"mpirun_regrouped", 4, 2, {}, {"WEFT_NODES=2"}});
    return all;
}

/// Returns true for launches that also run without WEFT_TESTS_FULL.
bool is_ordinary(const Launch& launch) {
    constexpr std::string_view kOrdinary[] = {"n1_nodes1", "n4_nodes1", "n9_nodes1", "n3_nodes3",
                                              "n5_nodes2", "n7_nodes3", "mpirun"};
    return std::ranges::find(kOrdinary, launch.name) != std::end(kOrdinary);
}

using Case = std::tuple<App, Launch>;
class AppsTest : public testing::TestWithParam<Case> {};

TEST_P(AppsTest, ResultsEqualThoseOfASerialRun) {
    const auto& [app, launch] = GetParam();
    if (!is_ordinary(launch) && !long_forms()) GTEST_SKIP() << "only in the long form";
    const std::optional<Outcome> ran = run_launch(launch, command_of(app, {"--check", "--json"}));
    if (!ran) GTEST_SKIP() << "mpirun is not installed";
    const Outcome& outcome = *ran;
    if (outcome.errors.find("offers no provider") != std::string::npos ||
        outcome.errors.find("does not promise") != std::string::npos)
        GTEST_SKIP() << outcome.errors;
    ASSERT_EQ(outcome.status, 0) << outcome.errors << outcome.output;
    const auto report = lab::read_json(outcome.output);
    EXPECT_EQ(report.at("application"), app.name);
    EXPECT_EQ(report.at("ranks"), launch.ranks);
    EXPECT_EQ(report.at("nodes"), launch.nodes);
    EXPECT_EQ(report.at("check"), "right");
    EXPECT_GT(report.at(app.compared), 0);
}

INSTANTIATE_TEST_SUITE_P(Launches, AppsTest,
                         testing::Combine(testing::ValuesIn(apps()), testing::ValuesIn(launches())),
                         [](const auto& chosen) {
                             return std::get<0>(chosen.param).name + "_" +
                                    std::get<1>(chosen.param).name;
                         });

class HaloTest : public testing::TestWithParam<Launch> {};

TEST_P(HaloTest, AllCellsEqualThoseOfASerialRun) {
    if (!is_ordinary(GetParam()) && !long_forms()) GTEST_SKIP() << "only in the long form";
    const std::optional<Outcome> ran =
        run_launch(GetParam(), {RANK_PROGRAMS "/halo", "5", "7", "9"});
    if (!ran) GTEST_SKIP() << "mpirun is not installed";
    if (ran->errors.find("offers no provider") != std::string::npos ||
        ran->errors.find("does not promise") != std::string::npos)
        GTEST_SKIP() << ran->errors;
    EXPECT_EQ(ran->status, 0) << ran->errors << ran->output;
    EXPECT_NE(ran->output.find("9 steps: 0 cells differ\n"), std::string::npos) << ran->output;
}

INSTANTIATE_TEST_SUITE_P(Launches, HaloTest, testing::ValuesIn(launches()),
                         [](const auto& chosen) { return chosen.param.name; });

/// An application with an unusual distribution of data.
struct Shape {
    std::string name;
    Words options;  ///< options of weft run
    App app;
    Words more;  ///< further arguments of the application
};

class ShapesTest : public testing::TestWithParam<Shape> {};

TEST_P(ShapesTest, ResultsEqualThoseOfASerialRunForUnusualShapes) {
    const Shape& shape = GetParam();
    const Outcome outcome = run_ranks(shape.options, command_of(shape.app, shape.more));
    EXPECT_EQ(outcome.errors, "");
    ASSERT_EQ(outcome.status, 0) << outcome.errors << outcome.output;
    const auto report = lab::read_json(outcome.output);
    EXPECT_EQ(report.at("check"), "right");
    EXPECT_GT(report.at(shape.app.compared), 0);
}

std::vector<Shape> shapes() {
    const auto with = [](const char* name, Words more) {
        more.insert(more.end(), {"--check", "--json"});
        return std::pair(App{name, {}, app_named(name).compared}, more);
    };
    std::vector<Shape> all;
    const auto add = [&](const char* name, Words options, std::pair<App, Words> program) {
        all.push_back({name, std::move(options), program.first, program.second});
    };
    add("cg_ranks_without_rows", {"-n", "5", "--nodes", "2"},
        with("cg", {kMesh, "--blocks", "0,100,0,199,1"}));
    add("heat_one_row_each", {"-n", "5", "--nodes", "2"},
        with("heat", {"--rows", "5", "--columns", "1", "--steps", "20"}));
    add("heat_one_cell_each", {"--layout", "1,5"},
        with("heat", {"--grid", "2x3", "--rows", "2", "--columns", "3", "--steps", "33"}));
    add("heat_no_step", {"-n", "3"}, with("heat", {"--steps", "0"}));
    add("heat_with_neighbor_collectives", {"-n", "6", "--nodes", "2"},
        with("heat", {"--grid", "3x2", "--rows", "31", "--columns", "17", "--steps", "21",
                      "--exchange", "neighbors"}));
    add("table_full_to_the_last_slot", {"--layout", "2,1"},
        with("table", {"--draws", "3000", "--distinct", "60", "--slots", "60", "--seed", "5"}));
    add("samplesort_fewer_records_than_ranks", {"--layout", "2,3"},
        with("samplesort", {"FOLDER/in", "FOLDER/out", "--make", "3"}));
    add("samplesort_one_key", {"-n", "4"},
        with("samplesort", {"FOLDER/in", "FOLDER/out", "--make", "1000", "--distinct", "1"}));
    add("samplesort_few_samples_of_small_records", {"-n", "3", "--nodes", "3"},
        with("samplesort", {"FOLDER/in", "FOLDER/out", "--make", "5000", "--samples", "1",
                            "--record-bytes", "3", "--key-bytes", "3"}));
    return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShapesTest, testing::ValuesIn(shapes()),
                         [](const auto& chosen) { return chosen.param.name; });

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Sorts records of 20 bytes by their keys of 6 bytes with std::stable_sort.
std::string sorted_by_std(const std::string& bytes) {
    std::vector<std::string> records;
    for (std::size_t at = 0; at < bytes.size(); at += 20) records.push_back(bytes.substr(at, 20));
    std::ranges::stable_sort(records, [](const std::string& left, const std::string& right) {
        return std::memcmp(left.data(), right.data(), 6) < 0;
    });
    std::string all;
    for (const std::string& record : records) all += record;
    return all;
}

TEST(Samplesort, OutputEqualsAStableSort) {
    struct Job {
        Words options;
        const char* records;
        const char* distinct;
    };
    const Job jobs[] = {{{"-n", "1"}, "500", "40"},
                        {{"-n", "3"}, "3001", "7"},
                        {{"-n", "5", "--nodes", "2"}, "1234", "1"},
                        {{"-n", "4", "--nodes", "2"}, "40000", "0"},
                        {{"-n", "4"}, "0", "0"},
                        {{"-n", "4"}, "1", "0"}};
    for (const Job& job : jobs) {
        const Outcome outcome = run_ranks(
            job.options,
            command_of({"samplesort", {"FOLDER/in", "FOLDER/out"}, ""},
                       {"--make", job.records, "--distinct", job.distinct, "--record-bytes", "20",
                        "--key-bytes", "6", "--check", "--json"}));
        ASSERT_EQ(outcome.status, 0) << outcome.errors << outcome.output;
        const auto report = lab::read_json(outcome.output);
        EXPECT_EQ(report.at("check"), "right");
        const std::string input = read_file(folder().path() + "/in");
        EXPECT_EQ(input.size(), 20 * std::stoul(job.records));
        EXPECT_EQ(read_file(folder().path() + "/out"), sorted_by_std(input));
        // 64 samples of each rank bound the excess over an even share by 1/64 of all records.
        const auto ranks = report.at("ranks").get<std::size_t>();
        EXPECT_LE(report.at("share_max").get<std::size_t>(),
                  std::stoul(job.records) / ranks + std::stoul(job.records) / 64 + ranks + 1);
    }
}

TEST(Samplesort, AnExistingOutputIsReplacedAndTheInputIsNot) {
    const App app{"samplesort", {"FOLDER/in", "FOLDER/out", "--record-bytes", "20"}, ""};
    const Words program = command_of(app, {"--check"});
    const std::string input(20, 'b');
    std::ofstream(folder().path() + "/in") << input << std::string(20, 'a');
    std::ofstream(folder().path() + "/out") << std::string(1000, 'z');
    EXPECT_EQ(run_ranks({"-n", "2"}, program).status, 0);
    EXPECT_EQ(read_file(folder().path() + "/out"), std::string(20, 'a') + input);
    const auto refused = [&](const Words& words, const std::string& text) {
        Words command{program[0]};
        command.insert(command.end(), words.begin(), words.end());
        const Outcome outcome = run_ranks({"-n", "3"}, command);
        EXPECT_EQ(outcome.status, 2) << text;
        EXPECT_EQ(outcome.errors.find("samplesort: " + folder().path() + text), 0U)
            << outcome.errors;
    };
    const std::string in = folder().path() + "/in";
    refused({in, in, "--record-bytes", "20"}, "/in: is also the input");
    refused({in, folder().path() + "/out", "--record-bytes", "30"},
            "/in: 40 bytes, expected a multiple of the 30 bytes of a record");
    refused({in, folder().path() + "/no/out", "--record-bytes", "20"},
            "/no/out: cannot be written");
    refused({folder().path(), folder().path() + "/out"}, ": cannot be opened");
    EXPECT_EQ(read_file(in).substr(0, 20), input);
}

TEST(AppChecks, AResultOutsideTheToleranceIsWrong) {
    // Four ranks add in another order than one rank, so the last bits differ, and 0 is too strict.
    const Outcome outcome = run_ranks(
        {"-n", "4"}, command_of(app_named("cg"), {"--check", "--check-tolerance", "0", "--json"}));
    EXPECT_EQ(outcome.status, 1) << outcome.errors;
    EXPECT_EQ(lab::read_json(outcome.output).at("check"), "wrong");
}

TEST(AppChecks, ASolverThatDoesNotConvergeFails) {
    const Outcome outcome =
        run_ranks({"-n", "2"}, command_of(app_named("cg"), {"--iterations", "5", "--json"}));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(lab::read_json(outcome.output).at("converged"), false);
}

TEST(AppRefusals, BadArgumentsAreNamedOnceAndEndAllRanks) {
    const std::string cg = std::string(RANK_PROGRAMS) + "/cg";
    const std::string heat = std::string(RANK_PROGRAMS) + "/heat";
    const std::string table = std::string(RANK_PROGRAMS) + "/table";
    const std::string samplesort = std::string(RANK_PROGRAMS) + "/samplesort";
    const std::pair<Words, std::string> cases[] = {
        {{cg}, "cg: matrix is required"},
        {{cg, "/does/not/exist"}, "/does/not/exist: cannot be opened"},
        {{cg, kMesh, "--blocks", "1,2"}, "--blocks: 2 numbers, expected one for each of 3 ranks"},
        {{cg, kMesh, "--blocks", "1,2,3"}, "--blocks: 6 rows in all, expected the 300 rows"},
        {{cg, SOURCE_FOLDER "/README.md"}, "README.md:1: invalid banner"},
        {{heat, "--grid", "2x2"}, "--grid: 2x2 has 4 pieces, expected one for each of 3 ranks"},
        {{heat, "--grid", "3"}, "--grid: \"3\" is not a grid"},
        {{heat, "--exchange", "mail"}, "--exchange: \"mail\", expected"},
        {{heat, "--grid", "3x1", "--rows", "2"}, "2 x 640 cells cannot be cut into 3 x 1 pieces"},
        {{table, "--slots", "30", "--distinct", "100"}, "--slots: 30 were full"},
        {{table, "--draws", "0"}, "--draws"},
        {{samplesort, "/does/not/exist"}, "samplesort: output is required"},
        {{samplesort, "/does/not/exist", "/tmp/x"}, "/does/not/exist: cannot be opened"},
        {{samplesort, "a", "b", "--key-bytes", "101"}, "--key-bytes: 101, expected at most"},
        {{samplesort, kMesh, "b", "--make", "5"}, "mesh_300.mtx exists already"},
    };
    for (const auto& [program, text] : cases) {
        const Outcome outcome = run_ranks({"-n", "3"}, program);
        EXPECT_EQ(outcome.status, 2) << text;
        EXPECT_EQ(outcome.output, "");
        const std::size_t first = outcome.errors.find(text);
        ASSERT_NE(first, std::string::npos) << outcome.errors;
        EXPECT_EQ(outcome.errors.find(text, first + 1), std::string::npos) << outcome.errors;
    }
}

TEST(AppHelp, HelpIsPrintedOnceWithStatus0) {
    for (const App& app : apps()) {
        const Outcome outcome =
            run_ranks({"-n", "2"}, {std::string(RANK_PROGRAMS) + "/" + app.name, "--help"});
        EXPECT_EQ(outcome.status, 0);
        EXPECT_EQ(outcome.errors, "");
        EXPECT_NE(outcome.output.find("--check"), std::string::npos);
        EXPECT_EQ(outcome.output.find("Usage"), outcome.output.rfind("Usage"));
    }
}

}  // namespace
}  // namespace weft::test
