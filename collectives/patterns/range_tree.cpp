// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/patterns/range_tree.hpp"

#include <algorithm>
#include <memory>

namespace weft::collectives::patterns {

namespace {

/// Limits a number of children to the other nodes of the tree.
std::uint32_t at_most(std::int64_t children, Rank size) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(children, size - 1));
}

/// Returns, by time t, the number of nodes (at most `size`) that have the message at t if one node
/// has it at 0. A node sends every `step`; a message arrives after `travel`.
std::vector<Rank> reach(Rank size, std::int64_t step, std::int64_t travel) {
    std::vector<Rank> reached;
    const auto within = [&](std::int64_t time) {
        return time < 0 ? Rank{1} : reached[static_cast<std::size_t>(time)];
    };
    do {
        const auto now = static_cast<std::int64_t>(reached.size());
        // After its first send, the sender has `step` less time, and the receiver `travel` less.
        const std::int64_t sum =
            now < travel ? 1 : std::int64_t{within(now - step)} + within(now - travel);
        reached.push_back(static_cast<Rank>(std::min<std::int64_t>(sum, size)));
    } while (reached.back() < size);
    return reached;
}

/// Returns child `index` of k. The first children's subtrees may have one node more.
Branch kary_branch(Rank nodes, Rank k, Rank index) {
    const Rank least = (nodes - 1) / k;
    const Rank larger = (nodes - 1) % k;
    return {1 + index * least + std::min(index, larger), least + (index < larger ? 1 : 0)};
}

Child kary_child_towards(Rank nodes, Rank k, Rank distance) {
    const Rank least = (nodes - 1) / k;
    const Rank larger = (nodes - 1) % k;
    const Rank in_larger = larger * (least + 1);
    const Rank past = distance - 1;
    const Rank index = past < in_larger ? past / (least + 1) : larger + (past - in_larger) / least;
    return {static_cast<std::uint32_t>(index), kary_branch(nodes, k, index)};
}

/// Returns the child whose distance from its parent is `digit` times the place value `reach`.
Branch knomial_branch(Rank nodes, std::int64_t reach, Rank digit) {
    const std::int64_t distance = digit * reach;
    return {static_cast<Rank>(distance),
            static_cast<Rank>(std::min<std::int64_t>(reach, nodes - distance))};
}

/// Returns the largest place value of a digit in the numbers of a subtree.
std::int64_t knomial_reach(Rank nodes, Rank k) {
    std::int64_t reach = 1;
    while (reach * k < nodes) reach *= k;
    return reach;
}

Child knomial_child_towards(Rank nodes, Rank k, Rank distance) {
    std::uint32_t index = 0;
    std::int64_t reach = knomial_reach(nodes, k);
    for (; reach > distance; reach /= k)
        index += static_cast<std::uint32_t>(std::min<std::int64_t>(k - 1, (nodes - 1) / reach));
    const auto digit = static_cast<Rank>(distance / reach);
    return {index + static_cast<std::uint32_t>(digit - 1), knomial_branch(nodes, reach, digit)};
}

Child find_child(const std::vector<Branch>& branches, Rank distance) {
    std::uint32_t index = 0;
    for (const Branch& branch : branches) {
        if (branch.distance <= distance && distance < branch.distance + branch.size)
            return {index, branch};
        ++index;
    }
    return {};
}

}  // namespace

RangeTree kary_tree(Rank size, Rank k) {
    return {.branches =
                [k](Rank nodes) {
                    std::vector<Branch> list;
                    for (Rank child = 0; child < std::min(k, nodes - 1); ++child)
                        list.push_back(kary_branch(nodes, k, child));
                    return list;
                },
            .child_towards = [k](Rank nodes,
                                 Rank distance) { return kary_child_towards(nodes, k, distance); },
            .children_max = at_most(k, size)};
}

RangeTree knomial_tree(Rank size, Rank k) {
    const auto branches = [k](Rank nodes) {
        std::vector<Branch> list;
        for (std::int64_t reach = knomial_reach(nodes, k); reach > 0; reach /= k) {
            for (Rank digit = 1; digit < k && digit * reach < nodes; ++digit)
                list.push_back(knomial_branch(nodes, reach, digit));
        }
        return list;
    };
    return {
        .branches = branches,
        .child_towards = [k](Rank nodes,
                             Rank distance) { return knomial_child_towards(nodes, k, distance); },
        .children_max = at_most(std::ssize(branches(size)), size)};
}

RangeTree logp_tree(Rank size, LogP costs) {
    const std::int64_t step = std::max(costs.gap, costs.overhead);
    const std::int64_t travel = costs.latency + 2 * costs.overhead;
    const auto reached = std::make_shared<const std::vector<Rank>>(reach(size, step, travel));
    const auto time_for = [reached](Rank nodes) {
        return std::ranges::lower_bound(*reached, nodes) - reached->begin();
    };
    const auto branches = [=](Rank nodes) {
        std::vector<Branch> list;
        Rank distance = 1;
        for (std::int64_t left = time_for(nodes) - travel; distance < nodes; left -= step) {
            const Rank part =
                std::min((*reached)[static_cast<std::size_t>(left)], nodes - distance);
            list.push_back({distance, part});
            distance += part;
        }
        return list;
    };
    // The root of the whole tree has the most time, so no node has more children.
    const std::int64_t last = time_for(size) - travel;
    return {
        .branches = branches,
        .child_towards =
            [branches](Rank nodes, Rank distance) { return find_child(branches(nodes), distance); },
        .children_max = at_most(last < 0 ? 0 : last / step + 1, size)};
}

RangeTree block_tree(Rank size, LogGP costs, bool gathers) {
    // The root of n nodes first sends the blocks of the last part[n] nodes, then serves the others
    // as the root of n - part[n] nodes. A longer first message delays its receiver, but leaves less
    // work to the root, so the best length does not decrease with n. A gather is the reverse: the
    // root receives the last part[n] blocks last.
    std::vector<std::int64_t> time{0, 0};
    auto part = std::make_shared<std::vector<Rank>>(std::vector<Rank>{0, 0});
    std::vector<Rank> children{0, 0};  // number of children of the root of n nodes
    std::vector<Rank> largest;
    const auto at = [](Rank index) { return static_cast<std::size_t>(index); };
    Rank best = 1;
    for (Rank nodes = 2; nodes <= size; ++nodes) {
        const auto time_with =
            [&](Rank sent) {  // blocks in the root's message with the first child
                const std::int64_t bytes = sent * costs.block;
                return costs.overhead + (gathers ? 0 : bytes) +
                       std::max(time[at(nodes - sent)], (gathers ? bytes : 0) + costs.latency +
                                                            costs.overhead + time[at(sent)]);
            };
        while (best + 1 < nodes && time_with(best + 1) <= time_with(best)) ++best;
        time.push_back(time_with(best));
        part->push_back(best);
        children.push_back(children[at(nodes - best)] + 1);
        largest.resize(std::max(largest.size(), at(children.back())));
        Rank& known = largest[at(children.back()) - 1];
        known = std::max(known, best);
    }
    const auto branches = [part](Rank nodes) {
        std::vector<Branch> list;
        while (nodes > 1) {
            const Rank sent = (*part)[static_cast<std::size_t>(nodes)];
            nodes -= sent;
            list.push_back({nodes, sent});
        }
        return list;
    };
    return {
        .branches = branches,
        .child_towards =
            [branches](Rank nodes, Rank distance) { return find_child(branches(nodes), distance); },
        .children_max = static_cast<std::uint32_t>(largest.size()),
        .largest = std::move(largest)};
}

RangeTree in_rank_order(RangeTree tree) {
    const auto branches = [unordered = std::move(tree.branches)](Rank nodes) {
        std::vector<Branch> list = unordered(nodes);
        std::ranges::sort(list, {}, &Branch::distance);
        return list;
    };
    return {
        .branches = branches,
        .child_towards =
            [branches](Rank nodes, Rank distance) { return find_child(branches(nodes), distance); },
        .children_max = tree.children_max};
}

TreeNode find_node(const RangeTree& tree, Rank size, Rank node) {
    TreeNode found{.size = size};
    const bool chain = tree.children_max == 1;
    if (chain && node > 0)
        found = {.parent = node - 1, .parent_size = size - node + 1, .size = size - node};
    for (Rank root = chain ? node : 0; root != node;) {
        const Child child = tree.child_towards(found.size, node - root);
        found.parent = root;
        found.parent_size = found.size;
        found.child_index = child.index;
        found.size = child.branch.size;
        root += child.branch.distance;
    }
    found.branches = tree.branches(found.size);
    return found;
}

TreePlace place_in(const RangeTree& tree, RelativeRank own) {
    const TreeNode node = find_node(tree, own.size, own.number());
    TreePlace place{.child_index = node.child_index, .children_max = tree.children_max};
    if (node.parent >= 0) place.parent = own.rank_of(node.parent);
    for (const Branch& branch : node.branches)
        place.children.push_back(own.rank_of(own.number() + branch.distance));
    return place;
}

}  // namespace weft::collectives::patterns
