// SPDX-License-Identifier: BSD-3-Clause
// mpi_bench.cpp - the peer of `weft bench`: times the calls of an MPI library in the same loop.
//
// Idea     This source is compiled for every MPI library. The program takes the options of
//          `weft bench` and prints the same fields, so perf/compare treats both sides equally.
// Why      A ratio is fair only if one loop times both sides. That loop is
//          tools/measure/measuring.hpp. This program reads the clock only to check the barrier.
// Holds    Every result is checked against a value computed without MPI. Exit status: 0 right, 1 a
//          result was wrong, 2 invalid arguments.
// Next     docs/performance.md.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "perf/peer/mpi_calls.hpp"
#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"
#include "tools/measure/measuring.hpp"

namespace {

using weft::Collective;
using weft::lab::Json;
using weft::lab::Measurement;
using weft::lab::MeasuringLoop;
using weft::lab::MeasuringOptions;
using weft::peer::CallOptions;
using weft::peer::Job;

struct Options {
    std::string collective;
    std::string loop = "back-to-back";
    std::string buffers = "reused";
    std::string bytes_text = "0";
    std::string type = "double";
    std::string op = "sum";
    std::vector<std::uint64_t> bytes;
    CallOptions call;
    bool json = false;
    MeasuringOptions measuring;
};

const weft::collectives::CollectiveTraits& traits_of(const Options& options) {
    return *weft::collectives::find_collective(options.collective);  // the parser has checked it
}

void declare(weft::lab::CommandLine& line, Options& options) {
    line.option("--collective", options.collective, "Collective to call")
        .required()
        .one_of(weft::peer::collective_names());
    line.option("--type", options.type, "Element type, by weft's name");
    line.option("--op", options.op, "Operation of reductions");
    line.option("--bytes", options.bytes_text, "Sizes, such as 8,64K,1M");
    line.option("--iterations", options.measuring.iterations,
                "Timed calls in all (0: as many as fit into --seconds)");
    line.option("--seconds", options.measuring.seconds, "Time for all batches of one size")
        .within(1e-3, 3600.0);
    line.option("--batches", options.measuring.batches, "Number of samples").within(1, 1'000'000);
    line.option("--warmup", options.measuring.warmup, "Calls before anything is timed");
    line.option("--loop", options.loop, "How calls follow each other")
        .one_of({"back-to-back", "separated"});
    line.option("--buffers", options.buffers,
                "reused: the same buffers in every call; fresh: unused buffers in each call")
        .one_of({"reused", "fresh"});
    line.option("--root", options.call.root, "Root of rooted collectives");
    line.flag("--json", options.json, "One JSON object on stdout");
}

/// Sets collective, type and operation of the call. Returns the problem; empty if they are valid.
std::string complete_call(Options& options) {
    const auto type = weft::base::parse_type(options.type);
    if (!type) return type.failure().within("--type").text;
    const auto op = weft::base::parse_op(options.op);
    if (!op) return op.failure().within("--op").text;
    options.call.collective = traits_of(options).collective;
    options.call.type = *type;
    options.call.op = *op;
    if (weft::peer::mpi_type(*type) == MPI_DATATYPE_NULL)
        return fmt::format("--type: MPI has no {}", options.type);
    return traits_of(options).reduces() ? weft::peer::reason_of_refusal(*type, *op) : std::string();
}

/// Sets the members that follow from texts. Returns the problem; empty if the options are valid.
std::string complete(Options& options, int size) {
    if (std::string problem = complete_call(options); !problem.empty()) return problem;
    auto bytes = weft::base::parse_bytes_list(options.bytes_text);
    if (!bytes) return bytes.failure().within("--bytes").text;
    const std::size_t element = weft::base::size_of(options.call.type);
    for (const std::uint64_t value : *bytes)
        if (value % element != 0 || value / element > 0x7fffffff)
            return fmt::format("--bytes: {}, expected a multiple of {} up to 2^31 - 1 elements",
                               value, element);
    if (options.call.collective == Collective::barrier) *bytes = {0};
    if (options.call.root < 0 || options.call.root >= size)
        return fmt::format("--root: {} is not a rank from 0 to {}", options.call.root, size - 1);
    options.bytes = *bytes;
    options.call.fresh = options.buffers == "fresh";
    options.measuring.loop =
        options.loop == "separated" ? MeasuringLoop::separated : MeasuringLoop::back_to_back;
    return {};
}

Measurement measure_one(const Options& options, std::uint64_t bytes) {
    if (options.call.collective == Collective::barrier) {
        weft::peer::Barrier subject;
        return measure(subject, options.measuring);
    }
    weft::peer::Call subject(bytes, options.call);
    return measure(subject, options.measuring);
}

std::string library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string version(text, static_cast<std::size_t>(length));
    std::string first = version.substr(0, version.find_first_of(",\n"));
    std::ranges::replace(first, '\t', ' ');
    return first;
}

Json describe(const Measurement& measurement, std::uint64_t bytes) {
    return {{"algorithm", "library"},
            {"bytes", bytes},
            {"iterations", measurement.iterations},
            {"min_us", measurement.call_us.min},
            {"median_us", measurement.call_us.median},
            {"p99_us", measurement.call_us.p99},
            {"max_us", measurement.call_us.max},
            {"checked", measurement.checked}};
}

void print_line(const Measurement& measurement, std::uint64_t bytes) {
    fmt::print("{:>10} {:>12} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f}  {}\n", bytes,
               measurement.iterations, measurement.call_us.min, measurement.call_us.median,
               measurement.call_us.p99, measurement.call_us.max,
               measurement.checked ? "right" : "WRONG");
}

/// Measures every size; rank 0 prints. Returns true if all results were right.
bool run(const Options& options, const Job& job) {
    Json object{{"collective", options.collective},
                {"ranks", job.size()},
                {"library", library_version()},
                {"type", options.type},
                {"op", traits_of(options).reduces() ? options.op : "none"},
                {"loop", options.loop},
                {"buffers", options.buffers},
                {"results", Json::array()}};
    const bool prints = job.rank() == 0;
    if (prints && !options.json)
        fmt::print("{} on {} ranks, {}\n{:>10} {:>12} {:>10} {:>10} {:>10} {:>10}\n",
                   options.collective, job.size(), library_version(), "bytes", "iterations",
                   "min_us", "median_us", "p99_us", "max_us");
    bool right = true;
    for (const std::uint64_t bytes : options.bytes) {
        const Measurement measurement = measure_one(options, bytes);
        right = right && measurement.checked;
        if (prints && options.json) object["results"].push_back(describe(measurement, bytes));
        if (prints && !options.json) print_line(measurement, bytes);
    }
    if (prints && options.json) weft::lab::print_json(object);
    return right;
}

/// Returns the exit status if the program should not measure.
std::optional<int> read_options(int argument_count, char** arguments, Options& options,
                                const Job& job) {
    weft::lab::CommandLine line("mpi_bench", "Times collective calls of an MPI library.");
    declare(line, options);
    if (const auto status = line.read(argument_count, arguments, job.rank() == 0)) return status;
    const std::string problem = complete(options, job.size());
    if (problem.empty()) return std::nullopt;
    if (job.rank() == 0) fmt::print(stderr, "{}\n", problem);
    return 2;
}

}  // namespace

int main(int argument_count, char** arguments) {
    MPI_Init(&argument_count, &arguments);
    int status = 0;
    {
        const Job job;
        Options options;
        if (const auto early_status = read_options(argument_count, arguments, options, job))
            status = *early_status;
        else
            status = run(options, job) ? 0 : 1;
    }
    MPI_Finalize();
    return status;
}
