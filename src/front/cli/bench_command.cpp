// SPDX-License-Identifier: BSD-3-Clause
// bench_command.cpp - `weft bench`: times collectives on the ranks of a job and checks each result.
//
// Idea     Every rank of a job runs this command; rank 0 prints. The loop is base/measuring.hpp, which
//          the MPI peer of perf/ uses as well, over the public interface.
// Next     docs/measuring.md for what the figures mean; bench_subjects.hpp for the calls.
#include "front/cli/bench_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/element_types.hpp"
#include "base/measuring.hpp"
#include "base/ping_pong.hpp"
#include "base/units.hpp"
#include "collectives/registry.hpp"
#include "front/cli/bench_subjects.hpp"
#include "front/cli/exit_status.hpp"
#include "run/runtime/plans.hpp"

namespace weft::front {

namespace {

struct BenchOptions {
    std::string collective;
    std::string bytes_text = "8";
    std::string type = "double";
    std::string op = "sum";
    std::string loop = "back-to-back";
    std::vector<std::string> algorithms{"auto"};
    Rank root = 0;
    bool json = false;
    base::MeasuringOptions measuring;

    // Read from the texts above.
    std::vector<std::uint64_t> bytes;
    Type element = Type::float64;
    Op operation = Op::sum;
};

/// One line of the result.
struct Row {
    std::string algorithm;
    std::uint64_t bytes = 0;
    base::Measurement measurement;
};

/// Reads the option texts; what does not depend on the job is checked here.
base::Result<void> complete(BenchOptions& options) {
    const auto type = base::parse_type(options.type);
    if (!type) return type.failure().within("--type");
    const auto op = base::parse_op(options.op);
    if (!op) return op.failure().within("--op");
    options.element = *type;
    options.operation = *op;
    options.measuring.loop = options.loop == "separated" ? base::MeasuringLoop::separated
                                                         : base::MeasuringLoop::back_to_back;
    if (options.collective == "barrier") {
        options.bytes = {0};
        return {};
    }
    const auto bytes = base::parse_bytes_list(options.bytes_text);
    if (!bytes) return bytes.failure().within("--bytes");
    for (const std::uint64_t value : *bytes) {
        if (value % base::size_of(*type) != 0)
            return base::fail(Status::argument,
                              "--bytes: {} is not a multiple of the {} bytes of {}", value,
                              base::size_of(*type), options.type);
    }
    options.bytes = *bytes;
    return {};
}

/// The specs to time: as given, "all" replaced by every algorithm that fits the job.
std::vector<std::string> specs_for(const BenchOptions& options, Rank size) {
    std::vector<std::string> specs;
    for (const std::string& given : options.algorithms) {
        if (given != "all") {
            specs.push_back(given);
            continue;
        }
        for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
            if (algorithm.collective != options.collective) continue;
            const auto spec = collectives::parse_spec(algorithm.name);
            if (spec &&
                collectives::generate(
                    options.collective, *spec,
                    {.size = size, .root = algorithm.properties.rooted ? 0 : -1, .elements = 1})
                    .ok())
                specs.emplace_back(algorithm.name);
        }
    }
    return specs;
}

template <class T>
base::Measurement measure_typed(Team world, const BenchOptions& options, std::uint64_t bytes) {
    if (options.collective == "allreduce") {
        AllreduceSubject<T> subject(world, bytes, options.operation);
        return base::measure(subject, options.measuring);
    }
    BroadcastSubject<T> subject(world, bytes, options.root);
    return base::measure(subject, options.measuring);
}

base::Measurement measure_one(Team world, const BenchOptions& options, std::uint64_t bytes) {
    if (options.collective == "barrier") {
        BarrierSubject subject(world);
        return base::measure(subject, options.measuring);
    }
    switch (options.element) {
        case Type::int8:
            return measure_typed<std::int8_t>(world, options, bytes);
        case Type::int16:
            return measure_typed<std::int16_t>(world, options, bytes);
        case Type::int32:
            return measure_typed<std::int32_t>(world, options, bytes);
        case Type::int64:
            return measure_typed<std::int64_t>(world, options, bytes);
        case Type::uint8:
            return measure_typed<std::uint8_t>(world, options, bytes);
        case Type::uint16:
            return measure_typed<std::uint16_t>(world, options, bytes);
        case Type::uint32:
            return measure_typed<std::uint32_t>(world, options, bytes);
        case Type::uint64:
            return measure_typed<std::uint64_t>(world, options, bytes);
        case Type::float32:
            return measure_typed<float>(world, options, bytes);
        default:
            return measure_typed<double>(world, options, bytes);
    }
}

nlohmann::ordered_json to_json(const Row& row) {
    return {{"algorithm", row.algorithm},
            {"bytes", row.bytes},
            {"iterations", row.measurement.iterations},
            {"min_us", row.measurement.call_us.min},
            {"median_us", row.measurement.call_us.median},
            {"p99_us", row.measurement.call_us.p99},
            {"max_us", row.measurement.call_us.max},
            {"checked", row.measurement.checked}};
}

void print_json(const BenchOptions& options, Runtime& runtime, double calibrator_ns,
                const std::vector<Row>& rows) {
    nlohmann::ordered_json object{{"collective", options.collective},
                                  {"ranks", runtime.world().size()},
                                  {"nodes", runtime.nodes()},
                                  {"provider", runtime.provider()},
                                  {"notify", runtime.notify()},
                                  {"type", options.type},
                                  {"op", options.collective == "allreduce" ? options.op : "none"},
                                  {"loop", options.loop},
                                  {"calibrator_ns", calibrator_ns},
                                  {"results", nlohmann::ordered_json::array()}};
    for (const Row& row : rows) object["results"].push_back(to_json(row));
    fmt::print("{}\n", object.dump());
}

void print_row(const Row& row) {
    fmt::print("{:>10}  {:<24} {:>10} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f}  {}\n", row.bytes,
               row.algorithm, row.measurement.iterations, row.measurement.call_us.min,
               row.measurement.call_us.median, row.measurement.call_us.p99,
               row.measurement.call_us.max, row.measurement.checked ? "right" : "WRONG");
    std::fflush(stdout);
}

void print_head(const BenchOptions& options, Runtime& runtime, double calibrator_ns) {
    fmt::print("{} on {} ranks, {} node{}, provider {}, {} loop, calibrator {:.0f} ns\n",
               options.collective, runtime.world().size(), runtime.nodes(),
               runtime.nodes() == 1 ? "" : "s", runtime.provider(), options.loop, calibrator_ns);
    fmt::print("{:>10}  {:<24} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "bytes", "algorithm",
               "iterations", "min_us", "median_us", "p99_us", "max_us");
}

/// The calibrator is measured before the job is joined: the other ranks then sleep in start-up.
double calibrate_first_rank() {
    const char* rank = std::getenv("PMIX_RANK");
    if (rank != nullptr && std::string_view(rank) != "0") return 0;
    const auto measured = base::measure_ping_pong({.seconds = 0.01});
    return measured ? measured->median_ns : 0;
}

int bench(const BenchOptions& options) {
    const double calibrator_ns = calibrate_first_rank();
    Runtime runtime;
    Team world = runtime.world();
    const bool speaks = world.rank() == 0;
    if (options.root < 0 || options.root >= world.size())
        throw Error(Status::argument, fmt::format("--root: {} is not a rank, expected 0..{}",
                                                  options.root, world.size() - 1));
    if (speaks && !options.json) print_head(options, runtime, calibrator_ns);
    bool right = true;
    std::vector<Row> rows;
    for (const std::uint64_t bytes : options.bytes) {
        for (const std::string& spec : specs_for(options, world.size())) {
            world.set_algorithm(options.collective, spec == "auto" ? "" : spec);
            const std::string used = world.algorithm_of(
                options.collective, bytes / base::size_of(options.element), options.element);
            Row row{used, bytes, measure_one(world, options, bytes)};
            world.set_algorithm(options.collective, "");
            right = right && row.measurement.checked;
            if (speaks && !options.json) print_row(row);
            rows.push_back(std::move(row));
        }
    }
    if (speaks && options.json) print_json(options, runtime, calibrator_ns, rows);
    runtime.finalize();
    return right ? 0 : kAnswerIsNo;
}

int run_bench(BenchOptions& options) {
    if (const auto read = complete(options); !read) {
        fmt::print(stderr, "weft bench: {}\n", read.failure().text);
        return exit_status_of(read.failure().status);
    }
    try {
        return bench(options);
    } catch (const Error& error) {
        fmt::print(stderr, "weft bench: {}\n", error.what());
        return exit_status_of(error.status());
    }
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_status) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* command = app.add_subcommand(
        "bench", "Time a collective on the ranks of this job (start it with weft run)");
    command->add_option("collective", options->collective, "What to time")
        ->required()
        ->check(CLI::IsMember(
            std::vector<std::string>(run::kKindNames.begin(), run::kKindNames.end())));
    command->add_option("--bytes", options->bytes_text, "Sizes, as in 8,64K,1M")
        ->capture_default_str();
    command
        ->add_option("--algorithm", options->algorithms,
                     "A spec, auto, or all; may be given several times")
        ->allow_extra_args(false)
        ->capture_default_str();
    command->add_option("--type", options->type, "Element type")->capture_default_str();
    command->add_option("--op", options->op, "Reduction")->capture_default_str();
    command->add_option("--root", options->root, "Root of a broadcast")->capture_default_str();
    command
        ->add_option("--iterations", options->measuring.iterations,
                     "Timed calls in all; 0: as many as fit into --seconds")
        ->capture_default_str();
    command->add_option("--seconds", options->measuring.seconds, "Time for each row")
        ->check(CLI::Range(1e-3, 3600.0))
        ->capture_default_str();
    command->add_option("--batches", options->measuring.batches, "Samples of each row")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command->add_option("--warmup", options->measuring.warmup, "Calls before anything is timed")
        ->capture_default_str();
    command->add_option("--loop", options->loop, "How calls follow each other")
        ->check(CLI::IsMember({"back-to-back", "separated"}))
        ->capture_default_str();
    command->add_flag("--json", options->json, "One JSON object on stdout");
    command->callback([options, &exit_status] { exit_status = run_bench(*options); });
}

}  // namespace weft::front
