// SPDX-License-Identifier: BSD-3-Clause
#include "tools/verify/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "base/random.hpp"

namespace weft::plan {

namespace {

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;  // modulus of the weights

std::uint64_t mix(std::uint64_t word) {
    return base::mix(word + 0x9e3779b97f4a7c15);
}

std::uint64_t add_mod(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t sum = a + b;
    return sum >= kPrime ? sum - kPrime : sum;
}

std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
    return (std::uint64_t{left} << 32) | right;
}

}  // namespace

Values::Values(Rank ranks, std::uint64_t seed)
    : ranks_(ranks), seed_(mix(seed)), table_(1024, kUndefined) {}

std::uint64_t Values::leaf_weight(Rank rank, std::uint32_t unit) const {
    return mix(seed_ ^ mix(pair_key(as_u32(rank), unit))) % kPrime;
}

Value Values::leaf(Rank rank, std::uint32_t unit) {
    return intern({.left = as_u32(rank) | kLeaf,
                   .right = unit,
                   .first = rank,
                   .last = rank,
                   .unit = unit,
                   .weight = leaf_weight(rank, unit)});
}

Value Values::reduce(Value left, Value right) {
    const Node& a = nodes_[left];
    const Node& b = nodes_[right];
    Node node{.left = left,
              .right = right,
              .leaves = a.leaves + std::min(b.leaves, ~a.leaves),
              .weight = add_mod(a.weight, b.weight)};
    const bool joined = a.first <= a.last && b.first == a.last + 1 && b.first <= b.last;
    if (joined && a.unit == b.unit) {
        node.first = a.first;
        node.last = b.last;
        node.unit = a.unit;
    }
    return intern(node);
}

Value Values::intern(const Node& node) {
    if (2 * nodes_.size() >= table_.size()) grow();
    const std::size_t mask = table_.size() - 1;
    std::size_t at = mix(pair_key(node.left, node.right)) & mask;
    for (; table_[at] != kUndefined; at = (at + 1) & mask) {
        const Node& known = nodes_[table_[at]];
        if (known.left == node.left && known.right == node.right) return table_[at];
    }
    table_[at] = static_cast<Value>(nodes_.size());
    nodes_.push_back(node);
    return table_[at];
}

void Values::grow() {
    table_.assign(2 * table_.size(), kUndefined);
    const std::size_t mask = table_.size() - 1;
    for (Value value = 0; value < nodes_.size(); ++value) {
        std::size_t at = mix(pair_key(nodes_[value].left, nodes_[value].right)) & mask;
        while (table_[at] != kUndefined) at = (at + 1) & mask;
        table_[at] = value;
    }
}

bool Values::in_order(Value value, const Expectation& expected) const {
    const Node& node = nodes_[value];
    return node.first == expected.first_rank && node.last == expected.last_rank &&
           node.unit == expected.source_unit;
}

/// Returns the leaves of a value and their numbers of occurrences. Children have smaller numbers
/// than their parents, so nodes are processed in descending order.
std::vector<Values::Leaf> Values::leaves(Value value) {
    std::vector<Leaf> found;
    times_.resize(nodes_.size(), 0);
    std::priority_queue<Value> open;
    const auto add = [&](Value node, std::uint32_t times) {
        if (times_[node] == 0) open.push(node);
        // Counts double with each level of a tree that reuses its nodes, so they saturate.
        times_[node] = std::min(times_[node] + times, std::uint32_t{1} << 30);
    };
    add(value, 1);
    while (!open.empty()) {
        const Value at = open.top();
        open.pop();
        const std::uint32_t times = times_[at];
        times_[at] = 0;
        const Node& node = nodes_[at];
        if ((node.left & kLeaf) != 0) {
            found.push_back({static_cast<Rank>(node.left & ~kLeaf), node.right, times});
        } else {
            add(node.left, times);
            add(node.right, times);
        }
    }
    return found;
}

bool Values::each_once(Value value, const Expectation& expected) {
    const std::vector<Leaf> found = leaves(value);
    const auto ranks = static_cast<std::size_t>(expected.last_rank - expected.first_rank + 1);
    return found.size() == ranks && std::ranges::all_of(found, [&](const Leaf& leaf) {
               return leaf.times == 1 && leaf.unit == expected.source_unit &&
                      leaf.rank >= expected.first_rank && leaf.rank <= expected.last_rank;
           });
}

bool Values::each_once_by_weight(Value value, const Expectation& expected) {
    std::vector<std::uint64_t>& sums = weight_sums_[expected.source_unit];
    if (sums.empty()) {
        sums.reserve(static_cast<std::size_t>(ranks_) + 1);
        sums.push_back(0);
        for (Rank rank = 0; rank < ranks_; ++rank)
            sums.push_back(add_mod(sums.back(), leaf_weight(rank, expected.source_unit)));
    }
    const std::uint64_t below = sums[expected.first_rank];
    const std::uint64_t upto = sums[static_cast<std::size_t>(expected.last_rank) + 1];
    // Without the number of leaves, a contribution that occurs 2^61 times would pass as one.
    return nodes_[value].leaves == as_u32(expected.last_rank - expected.first_rank + 1) &&
           nodes_[value].weight == add_mod(upto, kPrime - below);
}

std::string Values::difference(Value value, const Expectation& expected) {
    std::vector<Leaf> found = leaves(value);
    std::ranges::sort(found, {}, [](const Leaf& leaf) { return std::pair(leaf.rank, leaf.unit); });
    std::string text;
    int count = 0;
    const auto report = [&](std::string what) {
        if (++count <= 3) text += (count > 1 ? ", " : "") + std::move(what);
        if (count == 4) text += ", and more";
    };
    Rank next = expected.first_rank;
    const auto missing_below = [&](Rank end) {
        for (; next < end && count < 4; ++next)
            report(fmt::format("misses the contribution of rank {}", next));
        next = std::max(next, end);
    };
    for (const Leaf& leaf : found) {
        if (leaf.unit != expected.source_unit || leaf.rank < expected.first_rank ||
            leaf.rank > expected.last_rank) {
            report(fmt::format("holds input unit {} of rank {}", leaf.unit, leaf.rank));
            continue;
        }
        missing_below(leaf.rank);
        next = leaf.rank + 1;
        if (leaf.times > 1)
            report(
                fmt::format("holds the contribution of rank {} {} times", leaf.rank, leaf.times));
    }
    missing_below(expected.last_rank + 1);
    return text;
}

}  // namespace weft::plan
