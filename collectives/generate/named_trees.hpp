// SPDX-License-Identifier: BSD-3-Clause
// named_trees.hpp - trees that specs name, for algorithms of several collectives.
//
// Idea     Most algorithms along trees differ only in the tree. The name of an algorithm and its
//          parameters give the tree, and each collective has one generator that follows it.
#pragma once

#include <fmt/ranges.h>

#include <numeric>

#include "collectives/algorithm.hpp"
#include "collectives/notation/cursor.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

using Tree = base::Result<patterns::RangeTree>;
/// Returns a tree of `size` ranks for the parameters of a spec.
using TreeOf = Tree (*)(const AlgorithmSpec&, Rank size);

inline Tree flat_tree(const AlgorithmSpec&, Rank size) {
    return patterns::kary_tree(size, std::max(size - 1, 1));
}
inline Tree chain_tree(const AlgorithmSpec&, Rank size) {
    return patterns::kary_tree(size, 1);
}
inline Tree binary_tree(const AlgorithmSpec&, Rank size) {
    return patterns::kary_tree(size, 2);
}
inline Tree binomial_tree(const AlgorithmSpec&, Rank size) {
    return patterns::knomial_tree(size, 2);
}
inline Tree kary_tree(const AlgorithmSpec& spec, Rank size) {
    const Rank k = WEFT_TRY(radix_parameter(spec, 2, 1));
    return patterns::kary_tree(size, k);
}
inline Tree knomial_tree(const AlgorithmSpec& spec, Rank size) {
    const Rank k = WEFT_TRY(radix_parameter(spec, 4, 2));
    return patterns::knomial_tree(size, k);
}
/// Sets `cost`, which holds the default in units, to the spec's value or the default in thousandths
/// of a unit. `least`: smallest allowed value, in thousandths.
inline base::Result<void> read_cost(const AlgorithmSpec& spec, std::string_view key,
                                    std::int64_t& cost, std::int64_t least) {
    constexpr std::int64_t kThousandths = 1000;
    constexpr std::int64_t kCostMax = 10'000 * kThousandths;
    cost = WEFT_TRY(decimal_parameter(
        spec, key, {.fallback = cost * kThousandths, .least = least, .most = kCostMax}));
    return base::Done{};
}
inline Tree logp_tree(const AlgorithmSpec& spec, Rank size) {
    constexpr std::int64_t kUnitsMax = 10'000;
    patterns::LogP costs;
    WEFT_TRY(read_cost(spec, "latency", costs.latency, 1));
    WEFT_TRY(read_cost(spec, "overhead", costs.overhead, 0));
    WEFT_TRY(read_cost(spec, "gap", costs.gap, 1));
    // The tree depends only on the ratios of the costs. Small costs keep logp_tree() fast: it
    // advances by one unit of time.
    const std::int64_t unit = std::gcd(std::gcd(costs.latency, costs.overhead), costs.gap);
    for (std::int64_t* cost : {&costs.latency, &costs.overhead, &costs.gap}) {
        *cost /= unit;
        if (*cost > kUnitsMax)
            return base::fail(Status::argument,
                              "latency, overhead and gap must be at most {} times their greatest "
                              "common divisor",
                              kUnitsMax);
    }
    return patterns::logp_tree(size, costs);
}
inline Tree block_tree(const AlgorithmSpec& spec, Rank size, bool gathers) {
    patterns::LogGP costs;
    WEFT_TRY(read_cost(spec, "latency", costs.latency, 0));
    WEFT_TRY(read_cost(spec, "overhead", costs.overhead, 0));
    WEFT_TRY(read_cost(spec, "block", costs.block, 0));
    return patterns::block_tree(size, costs, gathers);
}
inline Tree scatter_tree(const AlgorithmSpec& spec, Rank size) {
    return block_tree(spec, size, false);
}
inline Tree gather_tree(const AlgorithmSpec& spec, Rank size) {
    return block_tree(spec, size, true);
}

inline constexpr Parameter kTreeParameter{
    "tree", "(binomial)",
    "a tree in parentheses: (binomial), (kary:k=2), (knomial:k=4), (logp-optimal), (flat), "
    "(chain) or (pipelined-binary)",
    "(kary:k=1),(kary:k=3),(knomial:k=3)"};

/// Returns the tree in the parameter `tree`.
inline Tree tree_parameter(const GenerateRequest& request) {
    struct NamedTree {
        std::string_view name;
        TreeOf tree;
        std::vector<std::string_view> parameters = {};
    };
    static const std::vector<NamedTree> kTrees = {
        {"binomial", binomial_tree},
        {"kary", kary_tree, {"k"}},
        {"knomial", knomial_tree, {"k"}},
        {"logp-optimal", logp_tree, {"latency", "overhead", "gap"}},
        {"flat", flat_tree},
        {"chain", chain_tree},
        {"pipelined-binary", binary_tree}};
    const SpecParameter* const given = request.spec->find("tree");
    if (given == nullptr) return binomial_tree(*request.spec, request.size);
    if (given->nested.empty() || given->nested.front().is_schedule())
        return fail_at(given->position,
                       "tree must be (binomial), (kary:k=2) or another tree, in parentheses");
    const AlgorithmSpec& named = given->nested.front();
    const auto found = std::ranges::find(kTrees, named.name, &NamedTree::name);
    if (found == kTrees.end()) {
        std::vector<std::string_view> names;
        for (const NamedTree& tree : kTrees) names.push_back(tree.name);
        return fail_at(named.position, "unknown tree '{}'; known: {}", named.name,
                       fmt::join(names, ", "));
    }
    for (const SpecParameter& parameter : named.parameters)
        if (std::ranges::find(found->parameters, parameter.key) == found->parameters.end())
            return fail_at(parameter.position, "{} has no parameter '{}'; it has {}", named.name,
                           parameter.key,
                           found->parameters.empty()
                               ? "none"
                               : fmt::format("{}", fmt::join(found->parameters, ", ")));
    return found->tree(named, request.size);
}

/// An algorithm along a tree.
struct TreeEntry {
    std::string_view name;
    TreeOf tree;
    std::string_view summary;
    std::string_view source;
    std::span<const Parameter> parameters;

    /// Returns the entry of the algorithm without its generator.
    [[nodiscard]] Algorithm algorithm(std::string_view collective) const {
        return {.collective = collective,
                .name = name,
                .summary = summary,
                .source = source,
                .parameters = {parameters.begin(), parameters.end()},
                .properties = {.ordered = true, .bit_identical = true}};
    }
    [[nodiscard]] bool in_pieces() const {
        return parameters.front().fallback == kSegmentsBySize.fallback;
    }
};

inline constexpr Parameter kTreeSegments[] = {kTriedSegments};
inline constexpr Parameter kTreePieces[] = {kSegmentsBySize};
inline constexpr Parameter kKaryParameters[] = {{"k", "2", "children of a rank", "1,3,5"},
                                                kTriedSegments};
inline constexpr Parameter kLogpParameters[] = {
    {"latency", "6", "time that a message travels, in any unit, as in 1.25", "1,50"},
    {"overhead", "2", "time that sending or receiving keeps a rank busy", "0"},
    {"gap", "4", "time from one message of a rank to its next", "1,9"},
    kTriedSegments};

}  // namespace weft::collectives
