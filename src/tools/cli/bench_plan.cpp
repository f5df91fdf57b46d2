// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/bench_plan.hpp"

#include <algorithm>

#include "base/element_types.hpp"
#include "base/units.hpp"
#include "collectives/registry.hpp"
#include "collectives/v_collective.hpp"
#include "run/team/call.hpp"
#include "tools/cli/bench_puts.hpp"
#include "tools/cli/command.hpp"
#include "tools/lab/oracle/samples.hpp"

namespace weft::tools {

namespace {

/// Refuses options that are not valid with `bench`.
void refuse_given(const BenchRequest& request, std::string_view bench) {
    for (const auto& [given, name] : {std::pair{request.osu, "--osu"},
                                      {request.histogram, "--histogram"},
                                      {request.memcpy, "--memcpy"},
                                      {request.calls_by_size, "--calls-by-size"},
                                      {!request.page.empty(), "--html"},
                                      {request.counts != "same", "--counts"},
                                      {request.delay_ns != 0, "--delay-ns"}})
        if (given) refuse("{} is not valid with {}", name, bench);
    if (request.algorithms.size() != 1 || request.algorithms.front() == "all")
        refuse("--algorithm: {} takes one algorithm, or auto", bench);
}

void plan_overlap(BenchPlan& plan) {
    const BenchRequest& request = plan.request;
    if (plan.name != kOverlapBench) {
        if (request.of.empty()) return;
        refuse("--of is only valid with '{}'", kOverlapBench);
    }
    plan.of = request.of.empty() ? "allreduce" : request.of;
    if (plan.of == "barrier") refuse("--of: barrier has no data to move while ranks work");
    if (request.buffers != "reused" || request.loop != "back-to-back")
        refuse("--{} is not valid with {}", request.loop != "back-to-back" ? "loop" : "buffers",
               kOverlapBench);
    refuse_given(request, kOverlapBench);
}

void check_peers(const BenchPlan& plan) {
    if (plan.request.peers.empty()) return;
    if (is_put_bench(plan.name) || plan.name == kOverlapBench)
        refuse("--compare: {} is not timed for MPI libraries", plan.name);
    if (!plan.request.ranks)
        refuse("--compare needs -n, because it starts the jobs of all libraries");
    refuse_given(plan.request, "--compare");
}

/// Finds the collective. --counts ragged selects its variant with counts, such as gatherv.
void plan_collective(BenchPlan& plan) {
    const auto find = [&] {
        return collectives::find_collective(plan.of.empty() ? plan.name : plan.of);
    };
    plan.traits = find();
    if (plan.request.counts != "same" && (plan.traits == nullptr || !plan.traits->has_counts())) {
        if (collectives::find_collective(plan.name + "v") == nullptr)
            refuse(
                "--counts: {} has no form with counts, expected gather, scatter, allgather, "
                "alltoall or reduce_scatter",
                plan.name);
        plan.name += "v";
        plan.traits = find();
    }
    plan.algorithms_of =
        plan.traits == nullptr ? plan.name : collectives::traits_of(plan.traits->even).name;
    if (plan.traits != nullptr) plan.call.collective = plan.traits->collective;
}

/// Reads --bytes. The default sizes start with 8 bytes, rounded up to whole elements.
void plan_bytes(BenchPlan& plan) {
    const BenchRequest& request = plan.request;
    if (plan.name == "barrier") {
        plan.bytes = {0};
        return;
    }
    const bool puts = is_put_bench(plan.name);
    if (request.pairs != 1 && (!puts || plan.name == "put-latency"))
        refuse("--pairs is only valid with put-rate and put-bandwidth, not {}", plan.name);
    if (request.pairs == 0) refuse("--pairs: 0, expected 1 or more");
    const std::uint64_t element_bytes = base::size_of(plan.call.type);
    std::string text = request.bytes;
    if (text == BenchRequest::kSweep)
        text = std::to_string((7 + element_bytes) / element_bytes * element_bytes) +
               BenchRequest::kSweepEnd;
    plan.bytes = need(base::parse_bytes_list(text), "--bytes");
    if (puts) {
        if (request.algorithms != std::vector<std::string>{"auto"})
            refuse("--algorithm is not valid with {}", plan.name);
        if (request.buffers != "reused")
            refuse("--buffers: {} always reuses its buffer", plan.name);
        if (std::ranges::find(plan.bytes, 0U) != plan.bytes.end())
            refuse("--bytes must be at least 1 for puts, not 0");
        plan.type = "none";
        return;
    }
    for (const std::uint64_t value : plan.bytes)
        if (value % element_bytes != 0)
            refuse("--bytes: {} is not a multiple of the {} bytes of {}", value, element_bytes,
                   request.type);
}

}  // namespace

base::Result<void> check_spec(const BenchPlan& plan, const std::string& given, Rank size) {
    if (plan.pairwise()) {
        if (given == collectives::kPairwiseAlgorithm) return {};
        return base::fail(Status::argument, "{} has no algorithm '{}'; it has {}", plan.name, given,
                          collectives::kPairwiseAlgorithm);
    }
    const auto spec = WEFT_TRY(collectives::parse_spec(given));
    WEFT_TRY(collectives::find_algorithm(plan.algorithms_of, spec));
    if (size == 0) return {};
    const Rank root = plan.rooted() ? plan.call.root : plan::kNoRank;
    WEFT_TRY(collectives::generate(plan.algorithms_of, spec,
                                   {.size = size, .root = root, .elements = 1}));
    return {};
}

base::Result<void> check_specs(const BenchPlan& plan, Rank size) {
    for (const std::string& given : plan.request.algorithms) {
        if (given == "auto" || given == "all") continue;
        if (auto checked = check_spec(plan, given, size); !checked)
            return checked.failure().within(fmt::format("--algorithm \"{}\"", given));
    }
    return {};
}

lab::MeasuringOptions BenchPlan::measuring_of(std::uint64_t size) const {
    lab::MeasuringOptions options = request.measuring;
    if (!request.calls_by_size) return options;
    constexpr std::uint64_t kKiB = 1024;
    options.batches = 10;
    options.warmup = size <= kKiB ? 10'000 : size <= 8 * kKiB ? 1000 : size < 128 * kKiB ? 100 : 10;
    options.iterations = options.batches * options.warmup;
    return options;
}

BenchPlan plan_bench(const BenchRequest& request) {
    const Type type = need(base::parse_type(request.type), "--type");
    const Op op = need(base::parse_op(request.op), "--op");
    BenchPlan plan{.request = request,
                   .name = request.collective,
                   .type = request.type,
                   .call = {.type = type,
                            .op = op,
                            .root = request.root,
                            .buffers = request.buffers == "rotated" ? BufferKind::rotated
                                       : request.buffers == "fresh" ? BufferKind::fresh
                                                                    : BufferKind::reused,
                            .uneven = request.counts == "ragged"}};
    plan.request.measuring.loop = request.loop == "separated" ? lab::MeasuringLoop::separated
                                                              : lab::MeasuringLoop::back_to_back;
    plan_overlap(plan);
    plan_collective(plan);
    check_peers(plan);
    if (plan.rooted() && plan.call.root < 0)
        refuse("--root: {} is not a rank, expected 0 or more", plan.call.root);
    need(check_specs(plan));
    if (plan.reduces() && !oracle::has_operation(type, op))
        refuse("--op: {} does not exist for {}, which has {}", request.op, request.type,
               run::operations_of(type));
    if (request.json && request.osu) refuse("--osu and --json exclude each other");
    plan_bytes(plan);
    return plan;
}

}  // namespace weft::tools
