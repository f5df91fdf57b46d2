// SPDX-License-Identifier: BSD-3-Clause
// bench_compare.cpp - `weft bench --compare`: times weft and MPI libraries on this machine.
//
// Idea     Rounds of jobs alternate between weft and each library, because a machine changes within
//          minutes. The result is the median over rounds, and the ratio of weft to the fastest.
// Holds    Between virtual nodes the MPI libraries use TCP.
// Next     perf/compare for all collectives, with plots, a calibrator and spreads.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "tools/cli/bench_plan.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/table.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::tools {

namespace {

constexpr int kRounds = 5;  ///< jobs of each library

/// A library: the command that starts one of its jobs, and the results of its jobs.
struct MeasuredLibrary {
    std::string name;
    Words command;
    std::map<std::uint64_t, std::vector<double>> times_us = {};  ///< by bytes; one for each round
    std::string failure = {};  ///< why a round failed; later rounds are skipped
};

/// Returns the options for the jobs of all libraries. Each round gets 1 / kRounds of a row's time.
Words measuring_words(const BenchPlan& plan) {
    const lab::MeasuringOptions& measuring = plan.request.measuring;
    Words words{"--bytes",   fmt::format("{}", fmt::join(plan.bytes, ",")),
                "--type",    plan.type,
                "--op",      plan.request.op,
                "--root",    std::to_string(plan.request.root),
                "--loop",    plan.request.loop,
                "--buffers", plan.request.buffers,
                "--batches", std::to_string(measuring.batches),
                "--warmup",  std::to_string(measuring.warmup),
                "--seconds", fmt::format("{:g}", std::max(measuring.seconds / kRounds, 1e-3)),
                "--json"};
    if (measuring.iterations != 0)
        append(words, {"--iterations", std::to_string(measuring.iterations)});
    return words;
}

MeasuredLibrary describe_weft(const BenchPlan& plan) {
    Words options{"-n", std::to_string(*plan.request.ranks)};
    if (plan.request.nodes) append(options, {"--nodes", std::to_string(*plan.request.nodes)});
    Words command{"bench", plan.name, "--algorithm", plan.request.algorithms.front()};
    append(command, measuring_words(plan));
    return {.name = "weft", .command = words_of_job(options, command)};
}

MeasuredLibrary describe_mpi(const BenchPlan& plan, const std::string& mpi) {
    MpiJob job{.mpi = mpi,
               .ranks = *plan.request.ranks,
               .preload = {yielding_library(mpi, *plan.request.ranks)},
               .program = {peer_program(mpi), "--collective", plan.name}};
    append(job.program, measuring_words(plan));
    // Between virtual nodes, Open MPI and the UCX of MPICH may not use shared memory.
    if (plan.request.nodes.value_or(1) > 1 && mpi == "openmpi")
        job.settings = {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=^vader,ofi,openib,uct",
                        "OMPI_MCA_btl_tcp_if_include=lo"};
    else if (plan.request.nodes.value_or(1) > 1)
        job.settings = {"UCX_TLS=^posix,sysv,cma,knem,xpmem", "MPIR_CVAR_NOLOCAL=1"};
    return {.name = mpi, .command = words_of(job)};
}

/// Runs one job for at most `seconds` seconds. Sets `right` to false if a result was wrong.
void run_round(MeasuredLibrary& library, double seconds, bool& right) {
    if (!library.failure.empty()) return;
    const auto found = json_of(library.command, seconds);
    if (!found || !found->contains("results")) {
        library.failure = found ? "no results" : found.failure().text;
        fmt::print(stderr, "weft bench: {}: {}\n", library.name, library.failure);
        return;
    }
    for (const Json& row : found->at("results")) {
        library.times_us[row.at("bytes").get<std::uint64_t>()].push_back(
            row.at("median_us").get<double>());
        if (!row.at("checked").get<bool>()) right = false;
    }
}

/// Returns the median time of each library, and the ratio of weft's to the fastest MPI library's.
Json row_of(const std::vector<MeasuredLibrary>& libraries, std::uint64_t bytes) {
    Json row{{"bytes", bytes}};
    std::optional<double> best;
    for (const MeasuredLibrary& library : libraries) {
        const auto found = library.times_us.find(bytes);
        const std::string key = library.name + "_us";
        row[key] = nullptr;
        if (found == library.times_us.end()) continue;
        const double time = lab::median(found->second);
        row[key] = time;
        if (&library != &libraries.front()) best = std::min(best.value_or(time), time);
    }
    row["ratio"] = nullptr;
    if (best && !row["weft_us"].is_null()) row["ratio"] = row["weft_us"].get<double>() / *best;
    return row;
}

void print_table(const BenchPlan& plan, const std::vector<MeasuredLibrary>& libraries,
                 const Json& rows) {
    const Rank nodes = plan.request.nodes.value_or(1);
    std::vector<Column> columns{{"bytes", "bytes"}};
    for (const MeasuredLibrary& library : libraries)
        columns.push_back({library.name, library.name + "_us", 12, 3});
    columns.push_back({libraries.size() > 2 ? "weft/best" : "ratio", "ratio", 12, 3});
    fmt::print("{} on {} ranks, {}: medians of {} rounds in us{}\n{}", plan.name,
               *plan.request.ranks, counted(nodes, "node"), kRounds,
               nodes == 1 ? "" : "; MPI libraries over TCP", table_head(columns));
    for (const Json& row : rows) fmt::print("{}", table_row(columns, row));
}

}  // namespace

int bench_against_peers(const BenchPlan& plan) {
    std::vector<MeasuredLibrary> libraries{describe_weft(plan)};
    for (const std::string& mpi : plan.request.peers) libraries.push_back(describe_mpi(plan, mpi));
    // Time limit of a job, with its start, and with slow calls that exceed the time of a row.
    const double seconds =
        60 + 4 * plan.request.measuring.seconds * static_cast<double>(plan.bytes.size());
    bool right = true;
    for (int round = 0; round < kRounds; ++round)
        for (MeasuredLibrary& library : libraries) run_round(library, seconds, right);
    Json failures = Json::array();
    for (const MeasuredLibrary& library : libraries)
        if (!library.failure.empty()) failures.push_back(library.name + ": " + library.failure);
    Json rows = Json::array();
    for (const std::uint64_t bytes : plan.bytes) rows.push_back(row_of(libraries, bytes));
    if (plan.request.json)
        print_json({{"collective", plan.name},
                    {"ranks", *plan.request.ranks},
                    {"nodes", plan.request.nodes.value_or(1)},
                    {"rounds", kRounds},
                    {"checked", right},
                    {"failures", failures},
                    {"results", rows}});
    else
        print_table(plan, libraries, rows);
    return !failures.empty() ? kEnvironmentFailed : right ? 0 : kAnswerIsNo;
}

}  // namespace weft::tools
