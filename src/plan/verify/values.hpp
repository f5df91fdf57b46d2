// SPDX-License-Identifier: BSD-3-Clause
// values.hpp - symbolic values: expression trees in which equal trees are one number.
//
// Idea     A value is a leaf (one rank's input unit) or a reduction of two values. Nodes are
//          hash-consed. A node also knows, if its leaves are the contributions of ranks i, i+1, ..,
//          j to one unit in this very order, that interval: a reduction of [i, k] and [k+1, j] has
//          it again. That shows "exactly once and in rank order" in O(1) per node, for any number
//          of ranks and without chance.
// Why      Out of order, leaves have to be counted: fine for hundreds of ranks. For more, each node
//          carries the sum of random weights of its leaves modulo 2^61 - 1, which equals the sum
//          over the expected ranks only if each is in it exactly once (but for a chance of 2^-60).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/schedule/contract.hpp"

namespace weft::plan {

using Value = std::uint32_t;
inline constexpr Value kUndefined = ~Value{0};

class Values {
  public:
    Values(Rank ranks, std::uint64_t seed);

    [[nodiscard]] Value leaf(Rank rank, std::uint32_t unit);
    /// left (op) right
    [[nodiscard]] Value reduce(Value left, Value right);

    /// The contributions first_rank..last_rank to source_unit, each once, in rank order.
    [[nodiscard]] bool in_order(Value value, const Expectation& expected) const;
    /// The same in any order, by counting leaves.
    [[nodiscard]] bool each_once(Value value, const Expectation& expected);
    /// The same, by weights.
    [[nodiscard]] bool each_once_by_weight(Value value, const Expectation& expected);
    /// What is wrong with a value, in words.
    [[nodiscard]] std::string difference(Value value, const Expectation& expected);

  private:
    struct Node {
        std::uint32_t left = 0;   ///< a leaf: its rank, with kLeaf set
        std::uint32_t right = 0;  ///< a leaf: its unit
        Rank first = 0;           ///< the interval in rank order; none if first > last
        Rank last = -1;
        std::uint32_t unit = 0;
        std::uint64_t weight = 0;
    };
    struct Leaf {
        Rank rank = 0;
        std::uint32_t unit = 0;
        std::uint32_t times = 0;
    };
    static constexpr std::uint32_t kLeaf = 0x80000000;

    [[nodiscard]] Value intern(const Node& node);
    void grow();
    [[nodiscard]] std::uint64_t leaf_weight(Rank rank, std::uint32_t unit) const;
    [[nodiscard]] std::vector<Leaf> leaves(Value value);

    Rank ranks_;
    std::uint64_t seed_;
    std::vector<Node> nodes_;
    std::vector<Value> table_;  ///< open addressing; kUndefined: free
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> weight_sums_;  ///< per unit
    std::vector<std::uint32_t> times_;  ///< leaves(): how often a node is in the tree
};

}  // namespace weft::plan
