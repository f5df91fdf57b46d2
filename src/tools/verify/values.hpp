// SPDX-License-Identifier: BSD-3-Clause
// values.hpp - symbolic values: expression trees in which equal trees have one number.
//
// Idea     A value is a leaf (one rank's input unit) or a reduction of two values. Nodes are
//          hash-consed. If the leaves of a node are the contributions of ranks i .. j to one unit,
//          in this order, the node stores the interval [i, j]. A reduction of [i, k] and [k+1, j]
//          has the interval [i, j]. This proves "exactly once and in rank order" in constant time
//          for each node, for any number of ranks.
// Why      Leaves in another order must be counted, which is fast enough for hundreds of ranks.
//          For more ranks, each node stores the sum of its leaves' random weights modulo 2^61 - 1.
//          If this sum equals the sum over the expected ranks, each rank occurs exactly once, with
//          an error probability of 2^-60.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/schedule/contract.hpp"

namespace weft::plan {

using Value = std::uint32_t;                    ///< index of a node
inline constexpr Value kUndefined = ~Value{0};  ///< not written

class Values {
  public:
    Values(Rank ranks, std::uint64_t seed);

    [[nodiscard]] Value leaf(Rank rank, std::uint32_t unit);
    [[nodiscard]] Value reduce(Value left, Value right);

    /// Returns true if the value combines the contributions first_rank..last_rank to source_unit,
    /// each once, in rank order.
    [[nodiscard]] bool in_order(Value value, const Expectation& expected) const;
    /// Returns true if the value combines each contribution once, in any order; counts leaves.
    [[nodiscard]] bool each_once(Value value, const Expectation& expected);
    /// As each_once(), but compares numbers of leaves and sums of weights.
    [[nodiscard]] bool each_once_by_weight(Value value, const Expectation& expected);
    /// Describes up to three contributions that the value lacks or has in excess.
    [[nodiscard]] std::string difference(Value value, const Expectation& expected);

  private:
    struct Node {
        std::uint32_t left = 0;   ///< left operand; leaf: rank, with kLeaf set
        std::uint32_t right = 0;  ///< right operand; leaf: unit
        Rank first = 0;  ///< ranks first .. last in rank order; no interval if first > last
        Rank last = -1;
        std::uint32_t unit = 0;    ///< unit of the interval's contributions
        std::uint32_t leaves = 1;  ///< number of leaves; the largest value also means more
        std::uint64_t weight = 0;  ///< sum of the leaves' random weights
    };
    struct Leaf {
        Rank rank = 0;
        std::uint32_t unit = 0;
        std::uint32_t times = 0;  ///< occurrences in the tree
    };
    static constexpr std::uint32_t kLeaf = 0x80000000;  ///< bit of Node::left that marks a leaf

    /// Returns the number of the node with these operands; adds it if it is new.
    [[nodiscard]] Value intern(const Node& node);
    void grow();
    [[nodiscard]] std::uint64_t leaf_weight(Rank rank, std::uint32_t unit) const;
    [[nodiscard]] std::vector<Leaf> leaves(Value value);

    Rank ranks_;
    std::uint64_t seed_;
    std::vector<Node> nodes_;
    std::vector<Value> table_;  ///< open addressing; kUndefined: free
    /// By unit: sums of the weights of ranks 0 .. r - 1, by r.
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> weight_sums_;
    std::vector<std::uint32_t> times_;  ///< leaves(): occurrences of a node in the tree
};

}  // namespace weft::plan
