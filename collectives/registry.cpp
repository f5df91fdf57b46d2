// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/registry.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "base/suggestion.hpp"
#include "base/units.hpp"
#include "collectives/entries.hpp"
#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

namespace {

// One line for each algorithm.
// clang-format off
// lint: allow(function-length): a table
std::vector<Algorithm> list_algorithms() {
    return {
        barrier_dissemination(),
        barrier_central(),
        barrier_tree(),
        barrier_multiplying(),
        hierarchical("barrier"),
        barrier_multi_object(),
        broadcast_tree("flat"),
        broadcast_tree("binomial"),
        broadcast_tree("kary"),
        broadcast_tree("knomial"),
        broadcast_tree("logp-optimal"),
        split_binary("broadcast"),
        broadcast_tree("chain"),
        broadcast_tree("pipelined-binary"),
        double_tree("broadcast"),
        broadcast_scatter_allgather(),
        circulant("broadcast"),
        bine("broadcast"),
        in_place("broadcast"),
        hierarchical("broadcast"),
        allreduce_multiplying(),
        allreduce_recursive_doubling(),
        allreduce_elimination(),
        double_tree("allreduce"),
        allreduce_halving_doubling(),
        allreduce_binary_blocks(),
        allreduce_halving(),
        allreduce_ring(),
        allreduce_pairwise_ring(),
        allreduce_generalized(),
        allreduce_butterfly(),
        allreduce_reduce_broadcast(),
        allreduce_chain(),
        allreduce_pipelined_binary(),
        allreduce_dual_root(),
        allreduce_census(),
        swing("allreduce"),
        in_place("allreduce"),
        hierarchical("allreduce"),
        allreduce_multi_object_small(),
        allreduce_multi_object_large(),
        flat("reduce"),
        reduce_tree("kary"),
        reduce_tree("binomial"),
        reduce_tree("knomial"),
        reduce_tree("logp-optimal"),
        reduce_tree("chain"),
        reduce_tree("pipelined-binary"),
        split_binary("reduce"),
        double_tree("reduce"),
        reduce_halving_doubling(),
        reduce_binary_blocks(),
        reduce_ring(),
        reduce_pairwise_ring(),
        circulant("reduce"),
        bine("reduce"),
        in_place("reduce"),
        hierarchical("reduce"),
        flat("gather"),
        gather_tree("binomial"),
        gather_tree("kary"),
        gather_tree("chain"),
        gather_tree("pipelined-binary"),
        gather_tree("loggp-optimal"),
        in_place("gather"),
        hierarchical("gather"),
        gather_multi_object(),
        flat("scatter"),
        scatter_tree("binomial"),
        scatter_tree("kary"),
        scatter_tree("chain"),
        scatter_tree("pipelined-binary"),
        scatter_tree("loggp-optimal"),
        in_place("scatter"),
        scatter_multi_object(),
        hierarchical("scatter"),
        allgather_direct(),
        allgather_ring(),
        allgather_recursive_doubling(),
        allgather_bruck(),
        allgather_gather_broadcast(),
        swing("allgather"),
        in_place("allgather"),
        hierarchical("allgather"),
        allgather_multi_object_bruck(),
        allgather_multi_object_ring(),
        alltoall_direct(),
        alltoall_bruck(),
        in_place("alltoall"),
        hierarchical("alltoall"),
        reduce_scatter_pairwise(),
        reduce_scatter_recursive_halving(),
        reduce_scatter_halving(),
        reduce_scatter_ring(),
        circulant("reduce_scatter"),
        swing("reduce_scatter"),
        in_place("reduce_scatter"),
        hierarchical("reduce_scatter"),
        scan_prefix("linear"),
        scan_prefix("recursive-doubling"),
        scan_prefix("doubling-123"),
        in_place("scan"),
        scan_mapped_linear(),
        hierarchical("scan"),
        exscan_prefix("linear"),
        exscan_prefix("recursive-doubling"),
        exscan_prefix("doubling-123"),
        in_place("exscan"),
        hierarchical("exscan"),
    };
}
// clang-format on

base::Result<void> check_request(const Algorithm& algorithm, const GenerateRequest& request) {
    if (request.size < 1)
        return base::fail(Status::argument, "ranks: {} given, at least 1 is needed", request.size);
    if (request.rank < 0 || request.rank >= request.size)
        return base::fail(Status::argument, "rank: {} is not in 0..{}", request.rank,
                          request.size - 1);
    if (request.segments < 1) return base::fail(Status::argument, "segments: 0 is less than 1");
    if (is_rooted(algorithm.collective) && (request.root < 0 || request.root >= request.size))
        return base::fail(Status::argument, "root: {} is not in 0..{}", request.root,
                          request.size - 1);
    if (algorithm.properties.power_of_two && !std::has_single_bit(as_u32(request.size)))
        return base::fail(Status::argument, "{} {} requires a power-of-two number of ranks, got {}",
                          algorithm.collective, algorithm.name, request.size);
    if (request.layout.is_given() && request.layout.size() != request.size)
        return base::fail(Status::argument, "layout has {} ranks, but the team has {}",
                          request.layout.size(), request.size);
    if (!algorithm.properties.fit(request.layout))
        return base::fail(Status::argument, "{} {} needs {}", algorithm.collective, algorithm.name,
                          algorithm.properties.one_node ? "all ranks on one node"
                          : algorithm.properties.even_nodes
                              ? "the same number of ranks on each node"
                              : "consecutive ranks on each node");
    if (!request.counts.empty() &&
        (!contract(algorithm.collective).block_per_rank ||
         request.counts.size() != static_cast<std::size_t>(request.size)))
        return base::fail(Status::argument, "counts: {} given, expected one for each block of {}",
                          request.counts.size(), algorithm.collective);
    if (request.ordered && !algorithm.properties.ordered)
        return base::fail(Status::argument,
                          "{} {} combines ranks out of order, and the operation does not commute",
                          algorithm.collective, algorithm.name);
    return base::Done{};
}

}  // namespace

base::Result<void> check_parameters(const Algorithm& algorithm, const AlgorithmSpec& spec) {
    for (const SpecParameter& given : spec.parameters) {
        if (algorithm.parameter(given.key) != nullptr) continue;
        std::vector<std::string_view> known;
        for (const Parameter& parameter : algorithm.parameters) known.push_back(parameter.name);
        const std::size_t separator = given.nested.empty() ? 1 : 2;  // length of "=" or "=("
        return fail_at(given.position - separator - given.key.size(),
                       "{} has no parameter '{}'; it has {}{}", algorithm.name, given.key,
                       known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                       base::did_you_mean(given.key, known));
    }
    return base::Done{};
}

std::span<const Algorithm> algorithms() {
    static const std::vector<Algorithm> list = list_algorithms();
    return list;
}

std::span<const Algorithm> algorithms_of(std::string_view collective) {
    static const std::vector<std::span<const Algorithm>> groups = [] {
        std::vector<std::span<const Algorithm>> found;
        for (auto rest = algorithms(); !rest.empty(); rest = rest.subspan(found.back().size())) {
            const auto end = std::ranges::find_if(rest, [&](const Algorithm& algorithm) {
                return algorithm.collective != rest.front().collective;
            });
            found.push_back(rest.first(static_cast<std::size_t>(end - rest.begin())));
        }
        return found;
    }();
    const auto group = std::ranges::find(
        groups, collective, [](const auto& algorithms) { return algorithms.front().collective; });
    return group == groups.end() ? std::span<const Algorithm>() : *group;
}

std::span<const std::string_view> collectives() {
    constexpr std::size_t kEven =
        std::ranges::count(kCollectives, BlockCounts::equal, &CollectiveTraits::counts);
    static_assert(std::ranges::all_of(std::span(kCollectives).first(kEven),
                                      [](const auto& traits) { return !traits.has_counts(); }));
    return std::span(kCollectiveNames).first(kEven);
}

base::Result<void> check_collective(std::string_view collective) {
    if (find_contract(collective) != nullptr) return base::Done{};
    return base::fail(Status::argument, "unknown collective '{}'; known: {}{}", collective,
                      fmt::join(collectives(), ", "),
                      base::did_you_mean(collective, collectives()));
}

std::vector<std::string> specs_to_try(std::string_view collective) {
    std::vector<std::string> specs;
    for (const Algorithm& algorithm : algorithms_of(collective)) {
        if (algorithm.properties.notation) continue;
        specs.emplace_back(algorithm.name);
        for (const Parameter& parameter : algorithm.parameters) {
            for (const std::string_view value : base::split_list(parameter.tries))
                specs.push_back(fmt::format("{}:{}={}", algorithm.name, parameter.name, value));
        }
    }
    return specs;
}

base::Result<const Algorithm*> find_algorithm(std::string_view collective,
                                              const AlgorithmSpec& spec) {
    WEFT_TRY(check_collective(collective));
    for (const Algorithm& algorithm : algorithms_of(collective)) {
        if (spec.is_schedule() ? algorithm.properties.notation : algorithm.name == spec.name)
            return &algorithm;
    }
    std::vector<std::string_view> known;
    for (const Algorithm& algorithm : algorithms_of(collective)) known.push_back(algorithm.name);
    if (spec.is_schedule())
        return fail_at(spec.position, "{} has no algorithm in the notation '{}'; it has {}",
                       collective, print(spec), fmt::join(known, ", "));
    return fail_at(spec.position, "{} has no algorithm '{}'; it has {}{}", collective, spec.name,
                   fmt::join(known, ", "), base::did_you_mean(spec.name, known));
}

namespace {

/// Adds the algorithm that a spec names to a request. Fails if it does not support the request.
base::Result<const Algorithm*> add_algorithm(std::string_view collective, const AlgorithmSpec& spec,
                                             GenerateRequest& request) {
    const Algorithm* const found = WEFT_TRY(find_algorithm(collective, spec));
    WEFT_TRY(check_request(*found, request));
    WEFT_TRY(check_parameters(*found, spec));
    request.algorithm = found;
    request.spec = &spec;
    return found;
}

}  // namespace

base::Result<plan::Program> generate(std::string_view collective, const AlgorithmSpec& spec,
                                     GenerateRequest request) {
    const Algorithm* const found = WEFT_TRY(add_algorithm(collective, spec, request));
    plan::Program program = found->generate != nullptr
                                ? WEFT_TRY(found->generate(request))
                                : plan::program_of(WEFT_TRY(found->stages(request)), request.rank);
    if (program.units > 0 && !request.counts.empty()) program.set_counts(request.counts);
    return program;
}

base::Result<plan::Stages> generate_stages(std::string_view collective, const AlgorithmSpec& spec,
                                           GenerateRequest request) {
    const Algorithm* const found = WEFT_TRY(add_algorithm(collective, spec, request));
    if (found->stages != nullptr) return found->stages(request);
    return base::fail(Status::unsupported, "{} {} has no form in stages", collective, found->name);
}

}  // namespace weft::collectives
