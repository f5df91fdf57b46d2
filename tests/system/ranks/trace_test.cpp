// SPDX-License-Identifier: BSD-3-Clause
// Goal: WEFT_TRACE writes the steps of the ranks in the trace-event format, which Perfetto reads.
// WEFT_STATS prints sums of the same data, and `weft simulate --trace` writes the same format.
// Method: read the files of jobs of 8 ranks, and check each event by the rules of the format. A
// process of the trace is a rank. Clocks of ranks on one host must be equal within the reported
// error.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "run/observe/reports.hpp"
#include "tests/system/ranks/ranks_job.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using lab::Json;

/// A temporary folder, removed at the end of the test.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "weft_trace_XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string path() const { return path_.string(); }
    /// Reads the only file in the folder.
    [[nodiscard]] Json file() const {
        const std::vector<fs::path> files(fs::directory_iterator(path_), {});
        EXPECT_EQ(files.size(), 1U);
        if (files.size() != 1) return {};
        std::ifstream stream(files.front());
        return lab::read_json({std::istreambuf_iterator<char>(stream), {}});
    }

  private:
    fs::path path_;
};

using TrackId = std::pair<int, int>;  ///< process and thread of the trace

/// Tolerance for times in microseconds with three decimals, of which two are compared.
constexpr double kRounding_us = 0.0015;

/// Contents of a trace whose events are all valid.
struct Contents {
    std::map<std::string, int> phases;  ///< number of events by phase
    std::map<std::string, int> slices;  ///< number by first word of the name, such as "wait"
    std::set<int> processes;            ///< processes with slices
    std::set<int> named;                ///< processes with names
    int arrows_between_processes = 0;
};

/// Times of an event in microseconds.
struct Slice {
    double begin = 0;
    double end = 0;
};

/// Checks that the slices of a thread are nested or disjoint.
void expect_nested(std::vector<Slice> slices) {
    std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<Slice> open;
    int crossing = 0;
    for (const Slice& slice : slices) {
        while (!open.empty() && open.back().end <= slice.begin + kRounding_us) open.pop_back();
        if (!open.empty() && slice.end > open.back().end + kRounding_us) ++crossing;
        open.push_back(slice);
    }
    EXPECT_EQ(crossing, 0) << "slices of one thread that overlap";
}

bool is_in_a_slice(const std::vector<Slice>& slices, double at) {
    return std::ranges::any_of(slices, [&](const Slice& slice) {
        return slice.begin - kRounding_us <= at && at <= slice.end + kRounding_us;
    });
}

/// Checks the fields that the format requires for each phase: M names a process or thread, X is a
/// slice, b and e begin and end an asynchronous slice, s and f start and finish an arrow ("flow").
Contents check_format(const Json& trace) {
    Contents contents;
    EXPECT_TRUE(trace.is_object());
    EXPECT_EQ(trace.at("displayTimeUnit"), "ns");
    std::map<TrackId, std::vector<Slice>> slices;
    std::map<std::string, std::vector<std::string>> async;
    std::map<std::int64_t, std::vector<Json>> flows;
    for (const Json& event : trace.at("traceEvents")) {
        const auto phase = event.at("ph").get<std::string>();
        ++contents.phases[phase];
        EXPECT_TRUE(event.at("name").is_string());
        const TrackId track{event.at("pid").get<int>(), event.at("tid").get<int>()};
        if (phase == "M") {
            const std::set<std::string> known{"process_name", "thread_name", "process_sort_index"};
            EXPECT_TRUE(known.contains(event.at("name").get<std::string>())) << event.dump();
            EXPECT_EQ(event.at("args").size(), 1U);
            if (event.at("name") == "process_name") contents.named.insert(track.first);
            continue;
        }
        EXPECT_TRUE(event.at("ts").is_number());
        EXPECT_GE(event.at("ts").get<double>(), 0);
        EXPECT_TRUE(event.at("cat").is_string());
        const auto at = event.at("ts").get<double>();
        if (phase == "X") {
            EXPECT_GE(event.at("dur").get<double>(), 0);
            slices[track].push_back({at, at + event.at("dur").get<double>()});
            contents.processes.insert(track.first);
            const auto name = event.at("name").get<std::string>();
            ++contents.slices[name.substr(0, name.find(' '))];
        } else if (phase == "b" || phase == "e") {
            async[event.at("cat").get<std::string>() + event.at("id").get<std::string>()].push_back(
                phase);
        } else if (phase == "s" || phase == "f") {
            EXPECT_EQ(event.value("bp", ""), phase == "f" ? "e" : "");
            flows[event.at("id").get<std::int64_t>()].push_back(event);
        } else {
            ADD_FAILURE() << "an unexpected phase: " << event.dump();
        }
    }
    for (const auto& [id, phases] : async)
        EXPECT_EQ(phases, (std::vector<std::string>{"b", "e"})) << id;
    for (const auto& [track, list] : slices) expect_nested(list);
    for (const auto& [id, ends] : flows) {
        EXPECT_EQ(ends.size(), 2U);
        EXPECT_EQ(ends.front().at("ph"), "s");
        EXPECT_EQ(ends.back().at("ph"), "f");
        EXPECT_LE(ends.front().at("ts").get<double>(), ends.back().at("ts").get<double>());
        contents.arrows_between_processes +=
            ends.front().at("pid") != ends.back().at("pid") ? 1 : 0;
    }
    // Each arrow must begin and end in a slice. To save time, only the first 200 are checked.
    for (const auto& [id, ends] : flows) {
        if (id > 200) break;
        for (const Json& end : ends)
            EXPECT_TRUE(is_in_a_slice(slices[{end.at("pid").get<int>(), end.at("tid").get<int>()}],
                                      end.at("ts").get<double>()))
                << end.dump();
    }
    return contents;
}

class TraceTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TraceTest, ATraceIsWellFormedAndShowsWaits) {
    const Folder folder;
    const Outcome outcome = run_ranks({"-n", "8", "--nodes", GetParam()}, {rank_program("hello")},
                                      {"WEFT_TRACE=" + folder.path(), "WEFT_ALLREDUCE=a8"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_NE(outcome.errors.find("trace of 8 ranks: " + folder.path()), std::string::npos)
        << outcome.errors;
    const Json trace = folder.file();
    const Contents contents = check_format(trace);
    EXPECT_EQ(contents.named.size(), 8U);
    EXPECT_EQ(contents.processes.size(), 8U);
    EXPECT_GE(contents.slices.at("allreduce"), 8);
    for (const char* part : {"wait", "publish"}) EXPECT_GE(contents.slices.at(part), 8) << part;
    EXPECT_GE(contents.arrows_between_processes, 8 * 7) << "in a8 each rank waits for all others";
    const Json& summary = trace.at("otherData");
    EXPECT_EQ(summary.at("events_lost"), 0);
    EXPECT_EQ(summary.at("ranks"), 8);
    EXPECT_LE(summary.at("compared_difference_ns_max").get<std::int64_t>(),
              summary.at("compared_error_ns_max").get<std::int64_t>())
        << "clocks of one host differ";
}

INSTANTIATE_TEST_SUITE_P(Nodes, TraceTest, ::testing::Values("1", "2"));

TEST(TraceTest, TheLastStepsAreKeptAndDroppedOnesCounted) {
    const Folder folder;
    const Outcome outcome =
        run_ranks({"-n", "2"}, {rank_program("hello")},
                  {"WEFT_TRACE=" + folder.path() + "/new", "WEFT_TRACE_EVENTS=16", "WEFT_STATS=1"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_NE(outcome.errors.find("older steps had no room (WEFT_TRACE_EVENTS)"), std::string::npos)
        << outcome.errors;
}

TEST(TraceTest, AnUnwritableFolderIsNamed) {
    const Outcome outcome =
        run_ranks({"-n", "2"}, {rank_program("hello")}, {"WEFT_TRACE=/proc/nothing"});
    EXPECT_EQ(outcome.status, 0) << "the job must not fail";
    EXPECT_NE(outcome.errors.find("WEFT_TRACE=/proc/nothing: cannot write"), std::string::npos)
        << outcome.errors;
}

TEST(TraceTest, ASimulatedRunHasTheSameFormat) {
    const Folder folder;
    const Outcome outcome =
        run_command({RANK_PROGRAMS "/weft", "simulate", "allreduce", "--algorithm", "a2,a4",
                     "--ranks", "8", "--bytes", "64", "--latency-ns", "500", "--issue-ns", "100",
                     "--trace", folder.path() + "/simulated.json"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    const Contents contents = check_format(folder.file());
    EXPECT_EQ(contents.processes.size(), 8U);
    EXPECT_EQ(contents.arrows_between_processes, 8 * (1 + 3)) << "waits of the stages a2 and a4";
}

/// Returns the words of each line that begins with "weft: " and `first`.
std::vector<Words> rows(const Outcome& outcome, const std::string& first) {
    std::istringstream lines(outcome.errors);
    std::vector<Words> found;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        Words row{std::istream_iterator<std::string>(words), {}};
        if (row.size() > 1 && row[0] == "weft:" && row[1] == first) found.push_back(row);
    }
    return found;
}

TEST(StatsTest, CallsAndBytesAreCountedExactly) {
    // hello: each of 4 ranks makes one allreduce of a double; a4 publishes 8 bytes on each.
    const Outcome outcome =
        run_ranks({"-n", "4"}, {rank_program("hello")}, {"WEFT_STATS=1", "WEFT_ALLREDUCE=a4"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    const std::vector<Words> calls = rows(outcome, "allreduce");
    ASSERT_EQ(calls.size(), 1U) << outcome.errors;
    // weft: allreduce 8 a4 RANKS CALLS mean waited PUT FAR
    EXPECT_EQ(calls[0][2], "8");
    EXPECT_EQ(calls[0][3], "a4");
    EXPECT_EQ(calls[0][4], "4");
    EXPECT_EQ(calls[0][5], "1");
    EXPECT_EQ(calls[0][8], "32");
    EXPECT_EQ(calls[0][9], "0");
    for (int rank = 0; rank < 4; ++rank) {
        // A line in this table, and one in the table of buffers.
        const std::vector<Words> lines = rows(outcome, std::to_string(rank));
        ASSERT_EQ(lines.size(), 2U);
        EXPECT_EQ(lines[0].size(), 12U);
        EXPECT_NE(lines[0][5], std::to_string(rank)) << "no rank waits for itself";
    }
}

/// Each round has the times at which rank 0 asked and got the answers, then the clock of each rank.
/// The second round is the shortest.
TEST(ClocksTest, TheShortestRoundTripGivesTheOffset) {
    const run::ClockOffsets found = run::offsets_of({{1000, 3000, {2000, 9000}},
                                                     {5000, 5100, {5050, 5000 + 50 + 777}},
                                                     {8000, 9000, {8500, 1}}});
    EXPECT_EQ(found.at_ns, 5050U);
    EXPECT_EQ(found.error_ns, 50U);
    EXPECT_EQ(found.ahead_ns, (std::vector<std::int64_t>{0, 777}));
}

TEST(ClocksTest, TheOffsetIsInterpolatedBetweenTwoComparisons) {
    const run::ClockOffsets first{.at_ns = 1'000'000, .ahead_ns = {0, 500}};
    const run::ClockOffsets last{.at_ns = 3'000'000, .ahead_ns = {0, 700}};
    EXPECT_EQ(run::ahead_at(first, last, 0, 2'000'000), 0);
    EXPECT_EQ(run::ahead_at(first, last, 1, 1'000'500), 500);
    EXPECT_NEAR(static_cast<double>(run::ahead_at(first, last, 1, 2'000'600)), 600, 1);
}

}  // namespace
}  // namespace weft::test
