// SPDX-License-Identifier: BSD-3-Clause
// bench_command.cpp - `weft bench`: times collectives on the ranks of a job and checks each result.
//
// Idea     All ranks of a job run this command and call the public C++ interface; rank 0 prints.
// Holds    Arguments are checked before the job is joined, except for those that depend on the
//          number of ranks. Rank 0 alone reports a failure that all ranks detect.
// Next     docs/performance.md; bench_subjects.hpp and bench_puts.hpp for the calls;
//          tools/measure/measuring.hpp for the loop.
#include <algorithm>

#include "base/element_types.hpp"
#include "base/units.hpp"
#include "run/team/call.hpp"
#include "tools/cli/bench_puts.hpp"
#include "tools/cli/bench_report.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/measure/ping_pong.hpp"

namespace weft::tools {

namespace {

constexpr std::uint64_t kSingleCallsMax = 10'000;  ///< in a histogram
constexpr std::size_t kSchedulesMax = 16;          ///< schedules that `--algorithm all` tries

/// Checks the options that depend on the number of ranks; equal on all ranks.
base::Result<void> check_job(const BenchPlan& plan, Rank size) {
    if (plan.rooted() && plan.call.root >= size)
        return base::fail(Status::argument, "--root: {} is not a rank, expected 0..{}",
                          plan.call.root, size - 1);
    if (plan.request.ranks && *plan.request.ranks != size)
        return base::fail(Status::argument, "-n {}: this job has {} ranks already",
                          *plan.request.ranks, size);
    const auto pairs = static_cast<std::uint64_t>(std::max(size / 2, 1));
    if (plan.request.pairs > pairs)
        return base::fail(Status::argument, "--pairs: {} ranks have no {} pairs, expected 1..{}",
                          size, plan.request.pairs, pairs);
    return check_specs(plan, size);
}

/// Returns the specs that `--algorithm all` tries: each algorithm that fits the job, with the
/// parameter values of specs_to_try(), and the first factored schedules where the notation applies.
std::vector<std::string> all_specs(const BenchPlan& plan, Rank size) {
    if (plan.pairwise()) return {std::string(collectives::kPairwiseAlgorithm)};
    std::vector<std::string> specs;
    for (std::string& spec : collectives::specs_to_try(plan.algorithms_of)) {
        if (check_spec(plan, spec, size)) specs.push_back(std::move(spec));
    }
    for (const collectives::Schedule& schedule : schedules_for(
             plan.algorithms_of, size, {collectives::ScheduleFamily::factored}, kSchedulesMax))
        specs.push_back(collectives::print(schedule));
    return specs;
}

std::vector<std::string> specs_for(const BenchPlan& plan, Rank size) {
    std::vector<std::string> specs;
    for (const std::string& given : plan.request.algorithms) {
        const auto more = given == "all" ? all_specs(plan, size) : std::vector{given};
        specs.insert(specs.end(), more.begin(), more.end());
    }
    return specs;
}

template <class Subject, class... Arguments>
base::Result<Timed> make_and_measure(Team world, const BenchPlan& plan, std::uint64_t bytes,
                                     Arguments... arguments) {
    const auto subject = WEFT_TRY(make_subject<Subject>(world, bytes, arguments...));
    Timed timed{.bytes = bytes, .measurement = lab::measure(*subject, plan.measuring_of(bytes))};
    if (plan.request.histogram) {
        const std::uint64_t calls = std::min(timed.measurement.iterations, kSingleCallsMax);
        timed.single_calls_us = lab::measure_singly(*subject, plan.request.measuring.loop, calls);
    }
    return timed;
}

template <class Subject, class... Arguments>
base::Result<Timed> measure_subject(Team world, const BenchPlan& plan, std::uint64_t bytes,
                                    Arguments... arguments) {
    if (plan.request.delay_ns == 0)
        return make_and_measure<Subject>(world, plan, bytes, world, bytes, arguments...);
    return make_and_measure<Delayed<Subject>>(world, plan, bytes, plan.request.delay_ns, world,
                                              bytes, arguments...);
}

base::Result<Timed> measure_collective(Team world, const BenchPlan& plan, std::uint64_t bytes) {
    using enum Collective;
    switch (plan.call.collective) {
        case barrier:
            return measure_subject<BarrierSubject>(world, plan, bytes);
        case allreduce:
            return measure_subject<FunctionSubject<allreduce>>(world, plan, bytes, plan.call);
        case reduce:
            return measure_subject<FunctionSubject<reduce>>(world, plan, bytes, plan.call);
        case broadcast:
            return measure_subject<FunctionSubject<broadcast>>(world, plan, bytes, plan.call);
        default:
            return measure_subject<CallSubject>(world, plan, bytes, plan.call);
    }
}

/// Runs a put bench and divides its times by the number of puts in a call.
base::Result<Timed> measure_puts(Team world, const BenchPlan& plan, std::uint64_t bytes) {
    const bool latency = plan.name == "put-latency";
    const PutStream stream{.puts = puts_per_call(plan.name, bytes),
                           .pairs = static_cast<Rank>(plan.request.pairs),
                           .both_ways = plan.name == kBothWays};
    auto timed = WEFT_TRY(latency ? measure_subject<PutLatencySubject>(world, plan, bytes)
                                  : measure_subject<PutStreamSubject>(world, plan, bytes, stream));
    timed.algorithm = "put";
    const std::uint64_t puts = latency ? PutLatencySubject::kPutsPerCall : stream.total_puts();
    timed.is_put_bench = true;
    timed.measurement.iterations *= puts;
    lab::Summary& call = timed.measurement.call_us;
    for (double* time : {&call.min, &call.median, &call.p99, &call.max, &call.deviation})
        *time /= static_cast<double>(puts);
    for (double& time : timed.single_calls_us) time /= static_cast<double>(puts);
    return timed;
}

/// Times one spec with one size. All ranks return the same failure.
base::Result<Timed> measure_spec(Team world, const BenchPlan& plan, std::uint64_t bytes,
                                 const std::string& spec) {
    if (is_put_bench(plan.name)) return measure_puts(world, plan, bytes);
    world.set_algorithm(plan.name, spec == "auto" ? "" : spec);
    const std::string algorithm =
        world.algorithm_of(plan.name, bytes / base::size_of(plan.call.type), plan.call.type);
    auto timed = measure_collective(world, plan, bytes);
    world.set_algorithm(plan.name, "");
    if (timed) timed->algorithm = algorithm;
    return timed;
}

/// Returns nothing for a spec of `--algorithm all` that all ranks refuse because it does not fit
/// the job's nodes, or needs buffers that peers cannot access. If there are too few put targets for
/// this size, rank 0 prints the reason.
std::optional<base::Result<Timed>> try_measuring(Team world, const BenchPlan& plan,
                                                 std::uint64_t bytes, const std::string& spec) {
    try {
        return measure_spec(world, plan, bytes, spec);
    } catch (const Error& error) {
        const bool given = std::ranges::count(plan.request.algorithms, spec) > 0;
        const bool refused = error.status() == Status::unsupported ||
                             error.status() == Status::argument || error.status() == Status::memory;
        if (given || !refused) throw;
        if (world.rank() == 0 && error.status() == Status::memory)
            fmt::print(stderr, "weft bench: skipped {} with {}: {}\n", spec,
                       base::format_bytes(bytes), error.what());
        return {};
    }
}

base::Result<std::vector<BenchRow>> measure_rows(Team world, const BenchPlan& plan,
                                                 const std::vector<std::string>& specs,
                                                 BenchReport& report) {
    BenchProgress progress(world.rank() == 0, plan.bytes.size() * specs.size());
    std::vector<BenchRow> rows;
    for (const std::uint64_t bytes : plan.bytes) {
        const std::size_t first = rows.size();
        for (const std::string& spec : specs) {
            progress.begin(spec, bytes);
            const auto timed = try_measuring(world, plan, bytes, spec);
            progress.clear();
            if (!timed) continue;
            if (!*timed) return timed->failure();
            rows.push_back({spec, report.facts_of(**timed)});
        }
        // The fastest spec of a size is marked, so rows are printed when all specs are timed.
        if (specs.size() > 1)
            mark_quickest({rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end()});
        if (plan.request.memcpy) {
            auto timed = WEFT_TRY(measure_subject<MemcpySubject>(world, plan, bytes));
            timed.algorithm = kMemcpyName;
            rows.push_back({std::string(kMemcpyName), report.facts_of(timed)});
        }
        for (std::size_t i = first; i < rows.size(); ++i) report.add(rows[i]);
    }
    return rows;
}

/// Leaves the job after a failure of all ranks. Returns the exit status.
int leave(Runtime& runtime, const base::Failure& failure) {
    if (runtime.world().rank() == 0) fmt::print(stderr, "weft bench: {}\n", failure.text);
    runtime.finalize();
    return exit_status_of(failure.status);
}

/// Returns the calibrator's time (ping_pong.hpp) on rank 0; 0 on other ranks or if it fails. Runs
/// before rank 0 joins the job, while the other ranks sleep in start-up.
double calibrate_first_rank() {
    if (!is_first_rank()) return 0;
    const auto measured = lab::measure_ping_pong({.seconds = 0.01});
    return measured ? measured->median_ns : 0;
}

int bench(const BenchPlan& plan) {
    const double calibrator_ns = calibrate_first_rank();
    Runtime runtime;
    Team world = runtime.world();
    if (const auto checked = check_job(plan, world.size()); !checked)
        return leave(runtime, checked.failure());
    if (plan.name == kOverlapBench) return bench_overlap(runtime, plan);
    const std::vector<std::string> specs = specs_for(plan, world.size());
    const std::size_t widest =
        specs.empty() ? 0 : std::ranges::max(specs, {}, &std::string::size).size();
    BenchReport report(plan, runtime, calibrator_ns, widest);
    const auto rows = measure_rows(world, plan, specs, report);
    if (!rows) return leave(runtime, rows.failure());
    const int status = report.finish();
    const bool writes = world.rank() == 0 && !plan.request.page.empty();
    runtime.finalize();
    if (writes) write_file("--html", plan.request.page, report.html_page(*rows));
    return status;
}

int run_bench(const BenchRequest& request) {
    const BenchPlan plan = plan_bench(request);
    if (!request.peers.empty()) {
        if (is_in_job()) refuse("--compare starts its jobs itself: call it outside");
        return bench_against_peers(plan);
    }
    if (!is_in_job()) {
        if (request.ranks) start_job(*request.ranks, request.nodes);
        if (request.nodes) refuse("--nodes needs -n (the number of ranks)");
        fmt::print(stderr,
                   "weft bench: 1 rank; for more: weft bench ... -n N, or weft run -n N -- "
                   "weft bench ...\n");
    }
    return bench(plan);
}

void add_kinds_of_calls(CLI::App& command, BenchRequest& request) {
    add_option(command, "--loop", request.loop, "how calls follow each other")
        .one_of({"back-to-back", "separated"});
    add_option(command, "--buffers", request.buffers,
               "reused: one for all calls; rotated: the next of a set that is larger than the "
               "caches; fresh: a new one for each call")
        .one_of({"reused", "rotated", "fresh"});
    add_option(command, "--counts", request.counts,
               "blocks of gather, scatter, allgather, alltoall or reduce_scatter: of equal size, "
               "or block i of n has (2 i + 1) / n^2 of all elements")
        .one_of({"same", "ragged"});
    add_flag(command, "--histogram", request.histogram,
             "also time up to 10000 calls one by one: percentiles and a histogram");
    add_option(command, "--pairs", request.pairs,
               "put-rate and put-bandwidth: the first K ranks put to the last K");
    add_option(command, "--of", request.of,
               "overlap: the collective that runs while its ranks compute or sleep; default: "
               "allreduce")
        .one_of({collectives::kCollectiveNames.begin(), collectives::kCollectiveNames.end()});
    add_option(command, "--compare", request.peers,
               "with -n: also time these MPI libraries (openmpi,mpich), in rounds that alternate "
               "with weft")
        .comma_separated()
        .one_of({"openmpi", "mpich"});
    add_option(command, "--html", request.page, "also write a page with plots to this file");
    add_flag(command, "--memcpy", request.memcpy,
             "also time a local copy of the same size by rank 0, as a separate row");
    add_option(command, "--delay-ns", request.delay_ns,
               "make each call slower by this time, to test whether a comparison detects it")
        .within(0.0, 1e9);
}

}  // namespace

void add_bench_command(CLI::App& app) {
    const auto [command, request] = add_command<BenchRequest>(
        app, "bench",
        "time a collective or puts, on N ranks (-n N) or on those of weft run or mpirun",
        &run_bench, "weft bench");
    std::vector<std::string> names(collectives::kCollectiveNames.begin(),
                                   collectives::kCollectiveNames.end());
    names.insert(names.end(), std::begin(kPutBenches), std::end(kPutBenches));
    names.emplace_back(kOverlapBench);
    add_option(*command, "collective", request->collective, "collective or put bench to time")
        .required()
        .one_of(std::move(names));
    add_option(*command, "-n,--ranks", request->ranks,
               "number of ranks to start on this machine, as weft run does");
    add_option(*command, "--nodes", request->nodes, "with -n: number of virtual nodes");
    add_option(*command, "--bytes", request->bytes,
               "sizes, as in 8,64K,1M or 8:4M (doubling) or 8:4M:x4");
    add_option(*command, "--algorithm", request->algorithms,
               "a spec, auto, or all; may be given several times")
        .one_value_each();
    add_option(*command, "--type", request->type, "element type");
    add_option(*command, "--op", request->op, "reduction");
    add_option(*command, "--root", request->root, "root of collectives that have one");
    add_option(*command, "--iterations", request->measuring.iterations,
               "number of timed calls; 0: limited by --seconds")
        .within(0, 1'000'000'000);
    add_option(*command, "--seconds", request->measuring.seconds,
               "time for the timed calls of each row; determining their number takes up to half "
               "as long again, and at least four calls")
        .within(1e-3, 3600.0);
    add_option(*command, "--batches", request->measuring.batches, "samples of each row")
        .within(1, 1'000'000);
    add_option(*command, "--warmup", request->measuring.warmup,
               "untimed calls before the first timed one")
        .within(0, 1'000'000'000);
    add_flag(
        *command, "--calls-by-size", request->calls_by_size,
        "run 10 batches of 10000 calls up to 1 KiB, of 1000 up to 8 KiB, of 100 below 128 KiB, of "
        "10 from there on, after as many untimed calls as in a batch; replaces --iterations, "
        "--batches and --warmup");
    add_kinds_of_calls(*command, *request);
    add_flag(*command, "--osu", request->osu,
             "two columns, as the OSU micro-benchmarks print them");
    add_flag(*command, "--json", request->json, "one JSON object on stdout");
}

}  // namespace weft::tools
