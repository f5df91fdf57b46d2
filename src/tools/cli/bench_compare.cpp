// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/bench_compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tools/cli/exit_status.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/other_program.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::tools {

namespace {

using Words = std::vector<std::string>;

constexpr int kRounds = 5;
/// For virtual nodes: excludes transports of Open MPI and of MPICH's UCX that use shared memory.
constexpr const char* kNoSharedMemory = "^vader,ofi,openib,uct";
constexpr const char* kNoSharedPages = "^posix,sysv,cma,knem,xpmem";

/// A library: the command that starts its jobs, and their results.
struct Side {
    std::string name;
    Words command;
    std::map<std::uint64_t, std::vector<double>> times_us;  ///< by size; one for each round
    std::string failure;                                    ///< the first one
};

void append(Words& words, Words more) {
    words.insert(words.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

/// Returns the measuring options of all sides. The rounds share the time of a row.
Words measuring_words(const BenchOptions& options) {
    const lab::MeasuringOptions& measuring = options.measuring;
    Words words{"--bytes",   fmt::format("{}", fmt::join(options.bytes, ",")),
                "--type",    options.type,
                "--op",      options.op,
                "--root",    std::to_string(options.root),
                "--loop",    options.loop,
                "--buffers", options.buffers,
                "--batches", std::to_string(measuring.batches),
                "--warmup",  std::to_string(measuring.warmup),
                "--seconds", fmt::format("{:g}", std::max(measuring.seconds / kRounds, 1e-3)),
                "--json"};
    if (measuring.iterations != 0)
        append(words, {"--iterations", std::to_string(measuring.iterations)});
    return words;
}

bool is_on_nodes(const BenchOptions& options) {
    return options.nodes.value_or(1) > 1;
}

bool shares_processors(Rank ranks) {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 && ranks > CPU_COUNT(&set);
}

Side weft_side(const BenchOptions& options, const std::string& self) {
    Words words{self, "run", "-n", std::to_string(*options.ranks)};
    if (options.nodes) append(words, {"--nodes", std::to_string(*options.nodes)});
    append(words,
           {"--", self, "bench", options.collective, "--algorithm", options.algorithms.front()});
    append(words, measuring_words(options));
    return {.name = "weft", .command = std::move(words), .times_us = {}, .failure = {}};
}

Side openmpi_side(const BenchOptions& options, const std::string& program) {
    Words words{"mpirun.openmpi", "--oversubscribe"};
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    if (is_on_nodes(options))
        append(words, {"--mca", "pml", "ob1", "--mca", "btl", kNoSharedMemory, "--mca",
                       "btl_tcp_if_include", "lo"});
    append(words, {"-np", std::to_string(*options.ranks), program});
    return {.name = "openmpi", .command = std::move(words), .times_us = {}, .failure = {}};
}

Side mpich_side(const BenchOptions& options, const std::string& program) {
    Words words{"mpiexec.mpich"};
    if (is_on_nodes(options))
        append(words, {"-genv", "UCX_TLS", kNoSharedPages, "-genv", "MPIR_CVAR_NOLOCAL", "1"});
    const std::string yields = std::filesystem::path(program).parent_path() / "peer_yield_ucx.so";
    if (shares_processors(*options.ranks) && ::access(yields.c_str(), R_OK) == 0)
        append(words, {"-genv", "LD_PRELOAD", yields});
    append(words, {"-np", std::to_string(*options.ranks), program});
    return {.name = "mpich", .command = std::move(words), .times_us = {}, .failure = {}};
}

base::Result<std::vector<Side>> sides_of(const BenchOptions& options) {
    const auto self = own_program();
    if (!self) return self.failure();
    std::vector<Side> sides{weft_side(options, *self)};
    for (const std::string& peer : options.peers) {
        const std::string program =
            std::filesystem::path(*self).parent_path() / fmt::format("peer_{}", peer);
        if (::access(program.c_str(), X_OK) != 0)
            return base::fail(Status::environment,
                              "--compare {0}: {1} is missing; where the library and its compiler "
                              "wrapper are installed, it is built by: cmake --build BUILD "
                              "--target weft_peer_{0}",
                              peer, program);
        sides.push_back(peer == "openmpi" ? openmpi_side(options, program)
                                          : mpich_side(options, program));
        append(sides.back().command, {"--collective", options.collective});
        append(sides.back().command, measuring_words(options));
    }
    return sides;
}

/// Runs one job of a side. Reports only the first failure.
void run_round(Side& side, double seconds, bool& right) {
    if (!side.failure.empty()) return;
    const auto found = json_of(side.command, seconds);
    if (!found || !(*found)["results"].is_array()) {
        side.failure = found ? "no results" : found.failure().text;
        fmt::print(stderr, "weft bench: {}: {}\n", side.name, side.failure);
        return;
    }
    for (const Json& row : found->at("results")) {
        side.times_us[row.at("bytes").get<std::uint64_t>()].push_back(
            row.at("median_us").get<double>());
        if (!row.at("checked").get<bool>()) right = false;
    }
}

std::optional<double> median_of(const Side& side, std::uint64_t bytes) {
    const auto found = side.times_us.find(bytes);
    if (found == side.times_us.end()) return {};
    return lab::median(found->second);
}

/// Times of one size, by side, and the ratio of weft's to the fastest of the others.
struct Row {
    std::uint64_t bytes = 0;
    std::vector<std::optional<double>> us;
    std::optional<double> ratio;
};

Row row_of(const std::vector<Side>& sides, std::uint64_t bytes) {
    Row row{.bytes = bytes, .us = {}, .ratio = {}};
    std::optional<double> best;
    for (const Side& side : sides) {
        row.us.push_back(median_of(side, bytes));
        const auto& time = row.us.back();
        if (row.us.size() > 1 && time) best = std::min(best.value_or(*time), *time);
    }
    if (best && row.us.front()) row.ratio = *row.us.front() / *best;
    return row;
}

void print_table(const BenchOptions& options, const std::vector<Side>& sides,
                 const std::vector<Row>& rows) {
    const Rank nodes = options.nodes.value_or(1);
    fmt::print("{} on {} ranks, {} node{}: medians of {} rounds in us{}\n{:>10}",
               options.collective, *options.ranks, nodes, nodes == 1 ? "" : "s", kRounds,
               nodes == 1 ? "" : "; MPI libraries over TCP", "bytes");
    for (const Side& side : sides) fmt::print(" {:>12}", side.name);
    fmt::print(" {:>12}\n", sides.size() > 2 ? "weft/best" : "ratio");
    const auto cell = [](const std::optional<double>& value) {
        return value ? fmt::format("{:.3f}", *value) : std::string("-");
    };
    for (const Row& row : rows) {
        fmt::print("{:>10}", row.bytes);
        for (const auto& time : row.us) fmt::print(" {:>12}", cell(time));
        fmt::print(" {:>12}\n", cell(row.ratio));
    }
}

void print_object(const BenchOptions& options, const std::vector<Side>& sides,
                  const std::vector<Row>& rows, bool right) {
    Json object{{"collective", options.collective},
                {"ranks", *options.ranks},
                {"nodes", options.nodes.value_or(1)},
                {"rounds", kRounds},
                {"checked", right},
                {"failures", Json::array()},
                {"results", Json::array()}};
    const auto value = [](const std::optional<double>& time) {
        return time ? Json(*time) : Json();
    };
    for (const Side& side : sides)
        if (!side.failure.empty()) object["failures"].push_back(side.name + ": " + side.failure);
    for (const Row& row : rows) {
        Json one{{"bytes", row.bytes}};
        for (std::size_t i = 0; i < sides.size(); ++i)
            one[sides[i].name + "_us"] = value(row.us[i]);
        one["ratio"] = value(row.ratio);
        object["results"].push_back(std::move(one));
    }
    print_json(object);
}

}  // namespace

int run_comparison(const BenchOptions& options) {
    auto sides = sides_of(options);
    if (!sides) return refuse("bench", sides.failure());
    // A job may take longer than the time of its rows if a call takes longer than a batch should.
    const double seconds =
        60 + 4 * options.measuring.seconds * static_cast<double>(options.bytes.size());
    bool right = true;
    for (int round = 0; round < kRounds; ++round)
        for (Side& side : *sides) run_round(side, seconds, right);
    std::vector<Row> rows;
    for (const std::uint64_t bytes : options.bytes) rows.push_back(row_of(*sides, bytes));
    if (options.json)
        print_object(options, *sides, rows, right);
    else
        print_table(options, *sides, rows);
    const bool failed =
        std::ranges::any_of(*sides, [](const Side& side) { return !side.failure.empty(); });
    return failed ? kEnvironmentFailed : right ? 0 : kAnswerIsNo;
}

}  // namespace weft::tools
