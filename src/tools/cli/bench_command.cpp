// SPDX-License-Identifier: BSD-3-Clause
// bench_command.cpp - `weft bench`: times collectives on the ranks of a job and checks each result.
//
// Idea     All ranks of a job run this command; rank 0 prints. The loop is
//          tools/measure/measuring.hpp, which the MPI counterpart in perf/ also uses, with calls of
//          the public interface.
// Holds    Arguments are checked before the job is joined, where this does not need the job. If all
//          ranks find a failure, only rank 0 reports it.
// Next     docs/performance.md for the meaning of the numbers; bench_subjects.hpp and
//          bench_puts.hpp for the calls.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/element_types.hpp"
#include "base/units.hpp"
#include "collectives/notation/enumerate.hpp"
#include "collectives/registry.hpp"
#include "collectives/v_collective.hpp"
#include "run/team/call.hpp"
#include "tools/cli/answer.hpp"
#include "tools/cli/bench_compare.hpp"
#include "tools/cli/bench_delay.hpp"
#include "tools/cli/bench_offload.hpp"
#include "tools/cli/bench_options.hpp"
#include "tools/cli/bench_overlap.hpp"
#include "tools/cli/bench_page.hpp"
#include "tools/cli/bench_puts.hpp"
#include "tools/cli/bench_report.hpp"
#include "tools/cli/bench_subjects.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/exit_status.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/measure/measuring.hpp"
#include "tools/measure/ping_pong.hpp"

namespace weft::tools {

namespace {

/// Result of one subject.
struct Measured {
    lab::Measurement batches;
    std::vector<double> single_calls_us;
};

// Limits: calls in a histogram, and schedules of the notation in "all".
constexpr std::uint64_t kSingleCallsMax = 10'000;
constexpr std::size_t kSchedulesMax = 16;

/// Checks that the algorithm has programs for a job of this size.
base::Result<void> check_fit(const BenchOptions& options, const std::string& text, Rank size) {
    if (has_pairwise_counts(options)) return check_spec(options, text);
    const auto spec = collectives::parse_spec(text);
    if (!spec) return spec.failure();
    const auto algorithm = collectives::find_algorithm(algorithms_of(options), *spec);
    if (!algorithm) return algorithm.failure();
    const Rank root = is_rooted(options) ? options.root : plan::kNoRank;
    const auto program = collectives::generate(algorithms_of(options), *spec,
                                               {.size = size, .root = root, .elements = 1});
    if (!program) return program.failure();
    return {};
}

/// Checks the options that depend on the number of ranks; equal on all ranks.
base::Result<void> check_job(const BenchOptions& options, Rank size) {
    if (is_rooted(options) && options.root >= size)
        return base::fail(Status::argument, "--root: {} is not a rank, expected 0..{}",
                          options.root, size - 1);
    if (options.ranks && *options.ranks != size)
        return base::fail(Status::argument, "-n {}: this job has {} ranks already", *options.ranks,
                          size);
    const auto pairs = static_cast<std::uint64_t>(std::max(size / 2, 1));
    if (options.pairs > pairs)
        return base::fail(Status::argument, "--pairs: {} ranks have no {} pairs, expected 1..{}",
                          size, options.pairs, pairs);
    for (const std::string& given : options.algorithms) {
        if (given == "auto" || given == "all") continue;
        if (auto fits = check_fit(options, given, size); !fits)
            return fits.failure().within(fmt::format("--algorithm \"{}\"", given));
    }
    return {};
}

/// Returns the specs of every algorithm of the collective that fits the job, with parameter values
/// that are worth trying. Algorithms with a notation contribute factored schedules.
std::vector<std::string> all_specs(const BenchOptions& options, Rank size) {
    if (has_pairwise_counts(options)) return {std::string(collectives::kPairwiseAlgorithm)};
    std::vector<std::string> specs;
    for (std::string& spec : collectives::specs_to_try(algorithms_of(options))) {
        if (check_fit(options, spec, size)) specs.push_back(std::move(spec));
    }
    for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
        if (algorithm.collective != algorithms_of(options)) continue;
        if (!algorithm.properties.notation || size < 2) continue;
        std::size_t schedules = 0;
        collectives::for_each_schedule(size, collectives::ScheduleFamily::factored,
                                       [&](const collectives::Schedule& schedule) {
                                           specs.push_back(collectives::print(schedule));
                                           return ++schedules < kSchedulesMax;
                                       });
    }
    return specs;
}

/// Returns the specs to time: the given ones, with "all" replaced.
std::vector<std::string> specs_for(const BenchOptions& options, Rank size) {
    std::vector<std::string> specs;
    for (const std::string& given : options.algorithms) {
        const auto more = given == "all" ? all_specs(options, size) : std::vector{given};
        specs.insert(specs.end(), more.begin(), more.end());
    }
    return specs;
}

template <class Subject>
Measured measure_as_is(Subject& subject, const BenchOptions& options) {
    Measured measured{lab::measure(subject, options.measuring), {}};
    if (options.histogram) {
        const std::uint64_t calls = std::min(measured.batches.iterations, kSingleCallsMax);
        measured.single_calls_us = lab::measure_singly(subject, options.measuring.loop, calls);
    }
    return measured;
}

template <class Subject>
Measured measure_made(Subject& subject, const BenchOptions& options) {
    if (options.delay_ns == 0) return measure_as_is(subject, options);
    DelayedSubject delayed(subject, options.delay_ns);
    return measure_as_is(delayed, options);
}

/// Makes buffers first; the ranks then agree whether all of them have buffers.
template <class Subject, class... Arguments>
base::Result<Measured> measure_subject(Team world, const BenchOptions& options, std::uint64_t bytes,
                                       Arguments... arguments) {
    std::optional<Subject> subject;
    try {
        subject.emplace(world, bytes, arguments...);
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    if (world.allreduce<int>(subject.has_value() ? 1 : 0, Op::min) == 0)
        return base::fail(Status::memory, "not enough memory for --bytes {}", bytes);
    return measure_made(*subject, options);
}

/// Times a collective with data.
base::Result<Measured> measure_call(Team world, const BenchOptions& options, std::uint64_t bytes) {
    const CallOptions call{.collective = traits_of(options)->collective,
                           .type = options.element,
                           .op = options.operation,
                           .root = options.root,
                           .buffers = options.buffers == "rotated" ? BufferKind::rotated
                                      : options.buffers == "fresh" ? BufferKind::fresh
                                                                   : BufferKind::reused,
                           .uneven = options.counts == "ragged"};
    switch (call.collective) {
        case Collective::allreduce:
            return measure_subject<AllreduceSubject>(world, options, bytes, call);
        case Collective::reduce:
            return measure_subject<ReduceSubject>(world, options, bytes, call);
        case Collective::broadcast:
            return measure_subject<BroadcastSubject>(world, options, bytes, call);
        default:
            return measure_subject<CallSubject>(world, options, bytes, call);
    }
}

/// Runs a put bench; converts times to the time of one put.
base::Result<BenchRow> measure_puts(Team world, const BenchOptions& options, std::uint64_t bytes) {
    const bool latency = options.collective == "put-latency";
    const PutStream stream{.puts = puts_per_call(options.collective, bytes),
                           .pairs = static_cast<Rank>(options.pairs),
                           .both_ways = options.collective == kBothWays};
    auto measured = latency ? measure_subject<PutLatencySubject>(world, options, bytes)
                            : measure_subject<PutStreamSubject>(world, options, bytes, stream);
    if (!measured) return measured.failure();
    BenchRow row{"put", bytes, measured->batches,
                 static_cast<double>(latency ? PutLatencySubject::kPutsPerCall : stream.in_all()),
                 std::move(measured->single_calls_us)};
    row.measurement.iterations *= static_cast<std::uint64_t>(row.puts_per_call);
    lab::Summary& call = row.measurement.call_us;
    for (double* time : {&call.min, &call.median, &call.p99, &call.max}) *time /= row.puts_per_call;
    for (double& time : row.single_calls_us) time /= row.puts_per_call;
    return row;
}

base::Result<Measured> measure_one(Team world, const BenchOptions& options, std::uint64_t bytes) {
    if (options.collective == "barrier") {
        BarrierSubject subject(world);
        return measure_made(subject, options);
    }
    return measure_call(world, options, bytes);
}

void print_object(const BenchOptions& options, Runtime& runtime, double calibrator_ns,
                  const std::vector<BenchRow>& rows) {
    const BandwidthFactors factors = bandwidth_factors(options.collective, runtime.world().size());
    Json object{{"collective", options.collective},
                {"ranks", runtime.world().size()},
                {"nodes", runtime.nodes()},
                {"provider", runtime.provider()},
                {"notify", runtime.notify()},
                {"type", options.type},
                {"op", has_operation(options) ? options.op : "none"},
                {"loop", options.loop},
                {"buffers", options.buffers},
                {"counts", options.counts},
                {"delay_ns", options.delay_ns},
                {"calibrator_ns", calibrator_ns},
                {"results", Json::array()}};
    for (const BenchRow& row : rows) object["results"].push_back(to_json(row, factors));
    print_json(object);
}

/// Runs the calibrator before the job is joined, because the other ranks then sleep in start-up.
double calibrate_first_rank() {
    if (!is_first_rank()) return 0;
    const auto measured = lab::measure_ping_pong({.seconds = 0.01});
    return measured ? measured->median_ns : 0;
}

/// Times one spec with one size. A failure is equal on all ranks.
base::Result<BenchRow> measure_row(Team world, const BenchOptions& options, std::uint64_t bytes,
                                   const std::string& spec) {
    if (is_put_bench(options.collective)) return measure_puts(world, options, bytes);
    world.set_algorithm(options.collective, spec == "auto" ? "" : spec);
    BenchRow row{world.algorithm_of(options.collective, bytes / base::size_of(options.element),
                                    options.element),
                 bytes,
                 {},
                 0,
                 {}};
    auto measured = measure_one(world, options, bytes);
    world.set_algorithm(options.collective, "");
    if (!measured) return measured.failure();
    row.measurement = measured->batches;
    row.single_calls_us = std::move(measured->single_calls_us);
    return row;
}

base::Result<BenchRow> measure_memcpy(Team world, const BenchOptions& options,
                                      std::uint64_t bytes) {
    auto measured = measure_subject<MemcpySubject>(world, options, bytes);
    if (!measured) return measured.failure();
    return BenchRow{std::string(kMemcpyName), bytes, measured->batches, 0,
                    std::move(measured->single_calls_us)};
}

/// Returns nothing for a candidate of "all" that all ranks refuse: it does not fit the job's nodes,
/// or needs buffers that peers cannot access.
std::optional<base::Result<BenchRow>> try_measuring(Team world, const BenchOptions& options,
                                                    std::uint64_t bytes, const std::string& spec) {
    try {
        return measure_row(world, options, bytes, spec);
    } catch (const Error& error) {
        const bool given = std::ranges::count(options.algorithms, spec) > 0;
        const bool refused =
            error.status() == Status::unsupported || error.status() == Status::argument;
        if (given || !refused) throw;
        return {};
    }
}

/// Measures all rows in order, and prints each one if there is a printer.
base::Result<std::vector<BenchRow>> measure_rows(Team world, const BenchOptions& options,
                                                 const BenchPrinter* printer) {
    const std::vector<std::string> specs = specs_for(options, world.size());
    BenchProgress progress(world.rank() == 0, options.bytes.size() * specs.size());
    std::vector<BenchRow> rows;
    for (const std::uint64_t bytes : options.bytes) {
        const std::size_t first = rows.size();
        const auto add = [&](const BenchRow& row) {
            rows.push_back(row);
            // The fastest of several specs is marked, which requires all their results.
            if (printer != nullptr && specs.size() == 1) printer->print(row);
        };
        for (const std::string& spec : specs) {
            progress.begin(spec, bytes);
            auto row = try_measuring(world, options, bytes, spec);
            progress.clear();
            if (!row) continue;
            if (!*row) return row->failure();
            (*row)->asked = spec;
            add(**row);
        }
        if (specs.size() > 1) {
            mark_quickest({rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end()});
            for (std::size_t i = first; printer != nullptr && i < rows.size(); ++i)
                printer->print(rows[i]);
        }
        if (!options.memcpy) continue;
        auto row = measure_memcpy(world, options, bytes);
        if (!row) return row.failure();
        row->asked = kMemcpyName;
        rows.push_back(*row);
        if (printer != nullptr) printer->print(*row);
    }
    return rows;
}

/// Returns the length of the longest spec to show.
std::size_t widest_of(const std::vector<std::string>& specs) {
    std::size_t widest = 0;
    for (const std::string& spec : specs) widest = std::max(widest, spec.size());
    return widest;
}

/// Leaves the job after a failure that all ranks have found.
int leave(Runtime& runtime, const base::Failure& failure) {
    if (runtime.world().rank() == 0) fmt::print(stderr, "weft bench: {}\n", failure.text);
    runtime.finalize();
    return exit_status_of(failure.status);
}

int bench_overlap(Runtime& runtime, const BenchOptions& options) {
    const bool speaks = runtime.world().rank() == 0;
    const std::string& spec = options.algorithms.front();
    runtime.world().set_algorithm(algorithms_of(options), spec == "auto" ? "" : spec);
    const auto rows = measure_overlap(runtime, options, speaks && !options.json);
    if (speaks && options.json) print_json(overlap_object(runtime, options, rows));
    runtime.finalize();
    return std::ranges::all_of(rows, &OverlapRow::checked) ? 0 : kAnswerIsNo;
}

int bench(const BenchOptions& options) {
    const double calibrator_ns = calibrate_first_rank();
    Runtime runtime;
    Team world = runtime.world();
    if (const auto checked = check_job(options, world.size()); !checked)
        return leave(runtime, checked.failure());
    if (options.collective == kOverlapBench) return bench_overlap(runtime, options);
    const bool speaks = world.rank() == 0;
    const BenchPrinter printer({.collective = options.collective,
                                .ranks = world.size(),
                                .nodes = runtime.nodes(),
                                .provider = runtime.provider(),
                                .loop = options.loop,
                                .buffers = options.buffers,
                                .counts = options.counts,
                                .calibrator_ns = calibrator_ns,
                                .pairs = options.pairs},
                               options.osu, widest_of(specs_for(options, world.size())));
    const bool prints = speaks && !options.json;
    if (prints) printer.print_head();
    const auto rows = measure_rows(world, options, prints ? &printer : nullptr);
    if (!rows) return leave(runtime, rows.failure());
    if (speaks && options.json) print_object(options, runtime, calibrator_ns, *rows);
    base::Result<void> written;
    if (speaks && !options.page.empty())
        written = write_file("--html", options.page, bench_page(printer.head(), *rows));
    runtime.finalize();
    const bool right =
        std::ranges::all_of(*rows, [](const BenchRow& row) { return row.measurement.checked; });
    if (!written) return refuse("bench", written.failure());
    return right ? 0 : kAnswerIsNo;
}

int run_bench(BenchOptions& options) {
    if (const auto read = complete(options); !read) return refuse("bench", read.failure());
    if (!options.peers.empty()) {
        if (!is_in_job()) return run_comparison(options);
        return refuse("bench", base::fail(Status::argument,
                                          "--compare starts its jobs itself: call it outside"));
    }
    if (!is_in_job()) {
        if (options.ranks) return refuse("bench", start_job(*options.ranks, options.nodes));
        fmt::print(stderr,
                   "weft bench: 1 rank; for more: weft bench ... -n N, or weft run -n N -- "
                   "weft bench ...\n");
    }
    if (options.offload) return bench_offload(options);
    try {
        return bench(options);
    } catch (const Error& error) {
        return refuse("bench", {error.status(), error.what()});
    }
}

/// Adds options for the kinds of calls and additional measurements.
void add_kinds_of_calls(CLI::App& command, BenchOptions& options) {
    add_option(command, "--loop", options.loop, "how calls follow each other")
        .one_of({"back-to-back", "separated"})
        .shows_default();
    add_option(command, "--buffers", options.buffers,
               "the same for every call, others out of more than the caches hold, or for each "
               "call one that no call had before")
        .one_of({"reused", "rotated", "fresh"})
        .shows_default();
    add_option(command, "--counts", options.counts,
               "elements of the blocks of gather, scatter, allgather, alltoall or "
               "reduce_scatter: the same in each, or block i of n has (2 i + 1) / n^2 of all")
        .one_of({"same", "ragged"})
        .shows_default();
    add_flag(command, "--histogram", options.histogram,
             "also time up to 10000 calls one by one: percentiles and a histogram");
    add_option(command, "--pairs", options.pairs,
               "put benches but latency: the first K ranks put to the last K")
        .shows_default();
    add_option(command, "--of", options.of,
               "overlap: the collective that goes on while its ranks compute or sleep; default: "
               "allreduce")
        .one_of({collectives::kCollectiveNames.begin(), collectives::kCollectiveNames.end()});
    add_option(command, "--compare", options.peers,
               "with -n: also time these MPI libraries (openmpi,mpich), in turn with weft")
        .comma_separated()
        .one_of({"openmpi", "mpich"});
    add_option(command, "--html", options.page, "also write a page with plots to this file");
    add_flag(command, "--memcpy", options.memcpy,
             "also time a copy of as many bytes by rank 0 alone, as a row of its own");
    add_flag(command, "--offload", options.offload,
             "calls that the network runs, beside started ones: barrier, broadcast, allreduce");
    add_option(command, "--budget", options.offload_budget,
               "with --offload: descriptors that are queued at a time; 0: all of a call")
        .shows_default();
    add_option(command, "--away-ms", options.away_ms,
               "with --offload: how long a rank that has started sleeps on once the others start; "
               "0: no such rounds")
        .within(0.0, 10'000.0)
        .shows_default();
    add_option(command, "--delay-ns", options.delay_ns,
               "make each call slower by this, to test whether a comparison detects it")
        .within(0.0, 1e9)
        .shows_default();
}

}  // namespace

void add_bench_command(CLI::App& app, int& exit_status) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App& command = add_command(
        app, "bench",
        "time a collective or puts, on N ranks (-n N) or on those of weft run or mpirun");
    std::vector<std::string> names(collectives::kCollectiveNames.begin(),
                                   collectives::kCollectiveNames.end());
    names.insert(names.end(), std::begin(kPutBenches), std::end(kPutBenches));
    names.emplace_back(kOverlapBench);
    add_option(command, "collective", options->collective, "what to time")
        .required()
        .one_of(std::move(names));
    add_option(command, "-n,--ranks", options->ranks,
               "start so many ranks on this machine, as weft run does");
    add_option(command, "--nodes", options->nodes, "with -n: on so many virtual nodes");
    add_option(command, "--bytes", options->bytes_text,
               "sizes, as in 8,64K,1M or 8:4M (doubling) or 8:4M:x4")
        .shows_default();
    add_option(command, "--algorithm", options->algorithms,
               "a spec, auto, or all; may be given several times")
        .one_value_each()
        .shows_default();
    add_option(command, "--type", options->type, "element type").shows_default();
    add_option(command, "--op", options->op, "reduction").shows_default();
    add_option(command, "--root", options->root, "root of collectives that have one")
        .shows_default();
    add_option(command, "--iterations", options->measuring.iterations,
               "timed calls in all; 0: as many as fit into --seconds")
        .within(0, 1'000'000'000)
        .shows_default();
    add_option(command, "--seconds", options->measuring.seconds,
               "time for the timed calls of each row; to find out how many these are takes up to "
               "half as long, and at least four calls")
        .within(1e-3, 3600.0)
        .shows_default();
    add_option(command, "--batches", options->measuring.batches, "samples of each row")
        .within(1, 1'000'000)
        .shows_default();
    add_option(command, "--warmup", options->measuring.warmup, "calls before anything is timed")
        .within(0, 1'000'000'000)
        .shows_default();
    add_kinds_of_calls(command, *options);
    add_flag(command, "--osu", options->osu, "two columns, as the OSU micro-benchmarks print them");
    add_flag(command, "--json", options->json, "one JSON object on stdout");
    on_run(command, exit_status, [options] { return run_bench(*options); });
}

}  // namespace weft::tools
