// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/patterns/range_tree.hpp"

#include <algorithm>
#include <memory>
#include <span>

namespace weft::collectives::patterns {

namespace {

std::uint32_t at_most(std::int64_t children, Rank size) {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(children, size - 1));
}

/// Nodes that a message reaches within a time: those[t] of a sender that has it at 0.
std::vector<Rank> reach(Rank size, std::int64_t step, std::int64_t way) {
    std::vector<Rank> those;
    const auto within = [&](std::int64_t time) {
        return time < 0 ? Rank{1} : those[static_cast<std::size_t>(time)];
    };
    do {
        const auto now = static_cast<std::int64_t>(those.size());
        // The first receiver has `way` less time than the sender, whose next message leaves later.
        const std::int64_t sum =
            now < way ? 1 : std::int64_t{within(now - step)} + within(now - way);
        those.push_back(static_cast<Rank>(std::min<std::int64_t>(sum, size)));
    } while (those.back() < size);
    return those;
}

}  // namespace

RangeTree flat_tree(Rank size) {
    return {.branches =
                [](Rank nodes) {
                    std::vector<Branch> list;
                    for (Rank child = 1; child < nodes; ++child) list.push_back({child, 1});
                    return list;
                },
            .children_max = at_most(size, size)};
}

RangeTree chain_tree(Rank size) {
    return {.branches =
                [](Rank nodes) {
                    return nodes > 1 ? std::vector<Branch>{{1, nodes - 1}} : std::vector<Branch>{};
                },
            .children_max = at_most(1, size)};
}

RangeTree kary_tree(Rank size, Rank k) {
    return {.branches =
                [k](Rank nodes) {
                    std::vector<Branch> list;
                    Rank distance = 1;
                    for (Rank child = 0; child < std::min(k, nodes - 1); ++child) {
                        const Rank part = (nodes - 1) / k + (child < (nodes - 1) % k ? 1 : 0);
                        list.push_back({distance, part});
                        distance += part;
                    }
                    return list;
                },
            .children_max = at_most(k, size)};
}

RangeTree knomial_tree(Rank size, Rank k) {
    const auto branches = [k](Rank nodes) {
        std::vector<Branch> list;
        std::int64_t reach = 1;
        while (reach * k < nodes) reach *= k;
        for (; reach > 0; reach /= k) {
            for (Rank digit = 1; digit < k && digit * reach < nodes; ++digit) {
                const std::int64_t distance = digit * reach;
                list.push_back({static_cast<Rank>(distance),
                                static_cast<Rank>(std::min(reach, nodes - distance))});
            }
        }
        return list;
    };
    return {.branches = branches, .children_max = at_most(std::ssize(branches(size)), size)};
}

RangeTree logp_tree(Rank size, LogP costs) {
    const std::int64_t step = std::max(costs.gap, costs.overhead);
    const std::int64_t way = costs.latency + 2 * costs.overhead;
    const auto those = std::make_shared<const std::vector<Rank>>(reach(size, step, way));
    const auto time_for = [those](Rank nodes) {
        return std::ranges::lower_bound(*those, nodes) - those->begin();
    };
    const auto branches = [=](Rank nodes) {
        std::vector<Branch> list;
        Rank distance = 1;
        for (std::int64_t left = time_for(nodes) - way; distance < nodes; left -= step) {
            const Rank part = std::min((*those)[static_cast<std::size_t>(left)], nodes - distance);
            list.push_back({distance, part});
            distance += part;
        }
        return list;
    };
    // A smaller subtree has less time, so it cannot hold more children than the time allows here.
    const std::int64_t last = time_for(size) - way;
    return {.branches = branches, .children_max = at_most(last < 0 ? 0 : last / step + 1, size)};
}

TreeNode find_node(const RangeTree& tree, Rank size, Rank node) {
    TreeNode found{.size = size};
    Rank root = 0;
    for (;;) {
        found.branches = tree.branches(found.size);
        if (root == node) return found;
        std::uint32_t index = 0;
        for (const Branch& branch : found.branches) {
            const Rank child = root + branch.distance;
            if (node < child || node >= child + branch.size) {
                ++index;
                continue;
            }
            found.parent = root;
            found.child_index = index;
            found.size = branch.size;
            root = child;
            break;
        }
    }
}

TreePlace place_in(const RangeTree& tree, Seat seat) {
    const Rank own = seat.number();
    const TreeNode node = find_node(tree, seat.size, own);
    TreePlace place{.child_index = node.child_index, .children_max = tree.children_max};
    if (node.parent >= 0) place.parent = seat.rank_of(node.parent);
    for (const Branch& branch : node.branches)
        place.children.push_back(seat.rank_of(own + branch.distance));
    return place;
}

}  // namespace weft::collectives::patterns
