// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/bench_options.hpp"

#include <algorithm>

#include "base/element_types.hpp"
#include "base/units.hpp"
#include "collectives/registry.hpp"
#include "collectives/v_collective.hpp"
#include "run/team/call.hpp"
#include "run/team/offload.hpp"
#include "tools/cli/bench_puts.hpp"

namespace weft::tools {

const collectives::CollectiveTraits* traits_of(const BenchOptions& options) {
    return collectives::find_collective(options.collective == kOverlapBench ? options.of
                                                                            : options.collective);
}

std::string_view algorithms_of(const BenchOptions& options) {
    const auto* const traits = traits_of(options);
    return traits == nullptr ? options.collective : collectives::traits_of(traits->even).name;
}

bool is_rooted(const BenchOptions& options) {
    const auto* const traits = traits_of(options);
    return traits != nullptr && traits->rooted();
}

bool has_operation(const BenchOptions& options) {
    const auto* const traits = traits_of(options);
    return traits != nullptr && traits->reduces();
}

namespace {

/// Replaces a call with one count by the call with a count for each member, if blocks
/// have different sizes.
base::Result<void> complete_counts(BenchOptions& options) {
    const auto* const traits = traits_of(options);
    if (options.counts == "same" || (traits != nullptr && traits->has_counts())) return {};
    if (collectives::find_collective(options.collective + "v") == nullptr)
        return base::fail(Status::argument,
                          "--counts: {} has none that could differ, expected gather, scatter, "
                          "allgather, alltoall or reduce_scatter",
                          options.collective);
    options.collective += "v";
    return {};
}

}  // namespace

bool has_pairwise_counts(const BenchOptions& options) {
    const auto* const traits = traits_of(options);
    return traits != nullptr && traits->has_pairwise_counts();
}

base::Result<void> check_spec(const BenchOptions& options, const std::string& given) {
    if (has_pairwise_counts(options)) {
        if (given == collectives::kPairwiseAlgorithm) return {};
        return base::fail(Status::argument, "{} has no algorithm '{}'; it has {}",
                          options.collective, given, collectives::kPairwiseAlgorithm);
    }
    const auto spec = collectives::parse_spec(given);
    if (!spec) return spec.failure();
    const auto algorithm = collectives::find_algorithm(algorithms_of(options), *spec);
    if (!algorithm) return algorithm.failure();
    return {};
}

namespace {

/// Checks that algorithms of these names exist, and that a root is given where needed.
base::Result<void> check_specs(const BenchOptions& options) {
    if (is_rooted(options) && options.root < 0)
        return base::fail(Status::argument, "--root: {} is not a rank, expected 0 or more",
                          options.root);
    for (const std::string& given : options.algorithms) {
        if (given == "auto" || given == "all") continue;
        if (auto checked = check_spec(options, given); !checked)
            return checked.failure().within(fmt::format("--algorithm \"{}\"", given));
    }
    return {};
}

/// Puts have no algorithm, type or operation; --bytes is in bytes.
base::Result<void> complete_put(BenchOptions& options, const std::vector<std::uint64_t>& bytes) {
    if (options.algorithms != std::vector<std::string>{"auto"})
        return base::fail(Status::argument, "--algorithm: {} has none", options.collective);
    if (options.buffers != "reused")
        return base::fail(Status::argument, "--buffers: {} has one, which is reused",
                          options.collective);
    if (std::ranges::find(bytes, 0U) != bytes.end())
        return base::fail(Status::argument, "--bytes: 0 bytes are no put, expected 1 or more");
    options.type = "none";
    options.bytes = bytes;
    return {};
}

/// Returns default sizes, which suit any type.
std::string default_bytes(std::uint64_t element_bytes) {
    const std::uint64_t least = (8 + element_bytes - 1) / element_bytes * element_bytes;
    return std::to_string(least) + BenchOptions::kSweepEnd;
}

/// Refuses options that a special bench does not have.
base::Result<void> refuse_given(const BenchOptions& options, std::string_view bench) {
    struct Given {
        bool is = false;
        const char* name = "";
    };
    for (const Given& given : {Given{options.osu, "--osu"},
                               {options.histogram, "--histogram"},
                               {options.memcpy, "--memcpy"},
                               {!options.page.empty(), "--html"},
                               {options.counts != "same", "--counts"},
                               {options.delay_ns != 0, "--delay-ns"}}) {
        if (given.is) return base::fail(Status::argument, "{}: {} has none", given.name, bench);
    }
    if (options.algorithms.size() != 1 || options.algorithms.front() == "all")
        return base::fail(Status::argument, "--algorithm: {} takes one", bench);
    return {};
}

base::Result<void> complete_overlap(BenchOptions& options) {
    if (options.collective != kOverlapBench) {
        if (options.of.empty()) return {};
        return base::fail(Status::argument, "--of: {} is of itself; it is for the bench {}",
                          options.collective, kOverlapBench);
    }
    if (options.of.empty()) options.of = "allreduce";
    if (options.of == "barrier")
        return base::fail(Status::argument, "--of: barrier has no data to move beside work");
    if (options.buffers != "reused" || options.loop != "back-to-back")
        return base::fail(Status::argument, "--{}: {} has no choice of it",
                          options.loop != "back-to-back" ? "loop" : "buffers", kOverlapBench);
    return refuse_given(options, kOverlapBench);
}

base::Result<void> check_peers(const BenchOptions& options) {
    if (options.peers.empty()) return {};
    if (is_put_bench(options.collective) || options.collective == kOverlapBench)
        return base::fail(Status::argument, "--compare: {} is not timed for MPI libraries",
                          options.collective);
    if (!options.ranks)
        return base::fail(Status::argument,
                          "--compare: the bench starts the jobs of all libraries: give -n");
    return refuse_given(options, "--compare");
}

/// Checks the number of pairs that put at the same time.
base::Result<void> check_pairs(const BenchOptions& options) {
    if (options.pairs == 1) return {};
    if (!is_put_bench(options.collective) || options.collective == "put-latency")
        return base::fail(Status::argument,
                          "--pairs: {} has none, expected a put-rate or "
                          "put-bandwidth bench",
                          options.collective);
    return {};
}

}  // namespace

base::Result<void> complete(BenchOptions& options) {
    const auto type = base::parse_type(options.type);
    if (!type) return type.failure().within("--type");
    const auto op = base::parse_op(options.op);
    if (!op) return op.failure().within("--op");
    options.element = *type;
    options.operation = *op;
    options.measuring.loop = options.loop == "separated" ? lab::MeasuringLoop::separated
                                                         : lab::MeasuringLoop::back_to_back;
    if (auto completed = complete_overlap(options); !completed) return completed;
    if (auto checked = check_peers(options); !checked) return checked;
    if (auto completed = complete_counts(options); !completed) return completed;
    if (auto checked = check_specs(options); !checked) return checked;
    if (has_operation(options) && run::reduce_kernel(*type, *op) == nullptr)
        return base::fail(Status::argument, "--op: {} does not exist for {}, which has {}",
                          options.op, options.type, run::operations_of(*type));
    if (options.offload) {
        const auto* const traits = traits_of(options);
        if (traits == nullptr)
            return base::fail(Status::argument, "--offload: {} is no collective",
                              options.collective);
        if (const auto usual = run::usual_offload(traits->collective); !usual)
            return base::fail(Status::argument, "--offload: {}", usual.failure().text);
        if (options.bytes_text == BenchOptions::kSweep) options.bytes_text = "8,1K,16K";
    }
    if (options.json && options.osu)
        return base::fail(Status::argument, "--osu and --json exclude each other");
    if (options.collective == "barrier") {
        options.bytes = {0};
        return {};
    }
    if (auto checked = check_pairs(options); !checked) return checked;
    if (options.bytes_text == BenchOptions::kSweep)
        options.bytes_text = default_bytes(base::size_of(*type));
    const auto bytes = base::parse_bytes_list(options.bytes_text);
    if (!bytes) return bytes.failure().within("--bytes");
    if (is_put_bench(options.collective)) return complete_put(options, *bytes);
    for (const std::uint64_t value : *bytes) {
        if (value % base::size_of(*type) != 0)
            return base::fail(Status::argument,
                              "--bytes: {} is not a multiple of the {} bytes of {}", value,
                              base::size_of(*type), options.type);
    }
    options.bytes = *bytes;
    return {};
}

}  // namespace weft::tools
