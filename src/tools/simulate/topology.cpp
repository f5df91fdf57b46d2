// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/topology.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "base/units.hpp"

namespace weft::lab {

namespace {

base::Result<Rank> parse_rank_count(std::string_view text) {
    return static_cast<Rank>(WEFT_TRY(base::parse_count(text, {.min = 1, .max = 1 << 30})));
}

}  // namespace

base::Result<Topology> Topology::parse(std::string_view text, Time latency, Rank ranks) {
    Topology topology(latency);
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    constexpr std::array<std::string_view, 4> kNames{"two-level", "fat-tree", "dragonfly", "torus"};
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end())
        return base::fail(Status::argument,
                          "unknown topology '{}'; expected two-level, fat-tree, dragonfly or torus",
                          name);
    topology.structure_ = static_cast<Structure>(found - kNames.begin());
    if (colon != std::string_view::npos) {
        for (const std::string_view part : base::split_list(text.substr(colon + 1))) {
            const std::size_t equals = part.find('=');
            if (equals == std::string_view::npos)
                return base::fail(Status::argument, "'{}': expected key=value", part);
            const std::string_view key = part.substr(0, equals);
            if (auto set = topology.set(key, part.substr(equals + 1)); !set)
                return set.failure().within(key);
        }
    }
    if (auto checked = topology.check(ranks); !checked) return checked.failure().within(name);
    return topology;
}

base::Result<void> Topology::set(std::string_view key, std::string_view value) {
    const auto set_count = [value](Rank& field) -> base::Result<void> {
        field = WEFT_TRY(parse_rank_count(value));
        return base::Done{};
    };
    const auto set_time = [value](Time& field) -> base::Result<void> {
        field = WEFT_TRY(base::parse_nanoseconds(value));
        return base::Done{};
    };
    if (key == "ranks") return set_count(ranks_per_node_);
    if (key == "near") return set_time(near_);
    if (structure_ != Structure::two_level && key == "hop") return set_time(hop_);
    if (structure_ == Structure::dragonfly && key == "global") return set_time(global_);
    if (structure_ == Structure::dragonfly && key == "routers") return set_count(routers_);
    if (structure_ == Structure::dragonfly && key == "nodes") return set_count(nodes_per_router_);
    if (structure_ == Structure::fat_tree && key == "radix") return set_count(radix_);
    if (structure_ == Structure::torus && key == "dims") {
        dims_.clear();
        for (const std::string_view dim : base::split_list(value, 'x'))
            dims_.push_back(WEFT_TRY(parse_rank_count(dim)));
        return base::Done{};
    }
    return base::fail(Status::argument, "no such parameter of this topology");
}

base::Result<void> Topology::check(Rank ranks) const {
    const Rank nodes = (ranks - 1) / ranks_per_node_ + 1;
    if (structure_ == Structure::fat_tree && radix_ < 2)
        return base::fail(Status::argument, "requires radix=K, at least 2");
    if (structure_ == Structure::dragonfly && routers_ < 1)
        return base::fail(Status::argument, "requires routers=A");
    if (structure_ == Structure::two_level && ranks_per_node_ == 1 && near_ == latency_)
        return base::fail(Status::argument, "requires ranks=R");
    if (structure_ != Structure::torus) return base::Done{};
    if (dims_.empty()) return base::fail(Status::argument, "requires dims, as in 4x4x2");
    constexpr std::int64_t kNodesMax = std::numeric_limits<Rank>::max();
    std::int64_t positions = 1;
    for (const Rank dim : dims_) {
        positions *= dim;
        if (positions > kNodesMax)
            return base::fail(Status::argument, "dims make more than {} nodes", kNodesMax);
    }
    if (positions < nodes)
        return base::fail(Status::argument, "dims make {} nodes, but {} ranks fill {}", positions,
                          ranks, nodes);
    return base::Done{};
}

/// Returns the number of levels from the nodes up to their lowest common switch.
int Topology::tree_levels(Rank a, Rank b) const {
    int levels = 0;
    while (a != b) {
        a /= radix_;
        b /= radix_;
        ++levels;
    }
    return levels;
}

Time Topology::between_nodes(Rank a, Rank b) const {
    switch (structure_) {
        case Structure::uniform:
        case Structure::two_level:
            return 0;
        case Structure::fat_tree:
            return 2 * tree_levels(a, b) * hop_;
        case Structure::dragonfly: {
            // In a group, all routers are connected. A message to another group leaves by the
            // router with the link to that group, and enters by the router with the link back.
            const Rank router_a = a / nodes_per_router_;
            const Rank router_b = b / nodes_per_router_;
            if (router_a == router_b) return 0;
            const Rank group_a = router_a / routers_;
            const Rank group_b = router_b / routers_;
            if (group_a == group_b) return hop_;
            const Time leave = router_a % routers_ == group_b % routers_ ? 0 : hop_;
            const Time enter = router_b % routers_ == group_a % routers_ ? 0 : hop_;
            return leave + global_ + enter;
        }
        case Structure::torus: {
            Time hops = 0;
            for (const Rank dim : dims_) {
                const Rank distance = std::abs(a % dim - b % dim);
                hops += std::min(distance, dim - distance);
                a /= dim;
                b /= dim;
            }
            return hops * hop_;
        }
    }
    return 0;
}

Time Topology::latency(Rank source, Rank target) const {
    if (structure_ == Structure::uniform) return latency_;
    const Rank a = node(source);
    const Rank b = node(target);
    return a == b ? near_ : latency_ + between_nodes(a, b);
}

void Topology::torus_route(Rank a, Rank b, std::vector<std::uint64_t>& links) const {
    std::int64_t unit = 1;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        const Rank dim = dims_[d];
        const Rank goal = static_cast<Rank>(b / unit % dim);
        auto at = static_cast<Rank>(a / unit % dim);
        const bool up = (goal - at + dim) % dim <= dim / 2;
        while (at != goal) {
            links.push_back(
                link(LinkKind::ring, static_cast<std::uint64_t>(a), d << 1 | (up ? 1U : 0U)));
            const Rank next = (at + (up ? 1 : dim - 1)) % dim;
            a += static_cast<Rank>((next - at) * unit);
            at = next;
        }
        unit *= dim;
    }
}

void Topology::route(Rank source, Rank target, std::vector<std::uint64_t>& links) const {
    const Rank a = node(source);
    const Rank b = node(target);
    if (a == b && structure_ != Structure::uniform) return;  // through memory, without links
    links.push_back(port(source, true));
    const auto as_word = [](Rank value) { return static_cast<std::uint64_t>(value); };
    if (structure_ == Structure::fat_tree) {
        // A switch has as many links up as nodes below, and the target selects the link. Messages
        // to different nodes therefore share no link down, so these links are not modeled.
        const int levels = tree_levels(a, b);
        Rank below = a;
        Rank width = 1;
        for (int level = 1; level < levels; ++level) {
            below /= radix_;
            width *= radix_;
            links.push_back(link(LinkKind::up, as_word(below),
                                 static_cast<std::uint64_t>(level) << 25 | as_word(b % width)));
        }
    } else if (structure_ == Structure::dragonfly) {
        const Rank router_a = a / nodes_per_router_;
        const Rank router_b = b / nodes_per_router_;
        const Rank group_a = router_a / routers_;
        const Rank group_b = router_b / routers_;
        if (group_a == group_b) {
            if (router_a != router_b)
                links.push_back(link(LinkKind::local, as_word(router_a), as_word(router_b)));
        } else {
            const Rank leave = group_a * routers_ + group_b % routers_;
            const Rank enter = group_b * routers_ + group_a % routers_;
            if (leave != router_a)
                links.push_back(link(LinkKind::local, as_word(router_a), as_word(leave)));
            links.push_back(link(LinkKind::global, as_word(group_a), as_word(group_b)));
            if (enter != router_b)
                links.push_back(link(LinkKind::local, as_word(enter), as_word(router_b)));
        }
    } else if (structure_ == Structure::torus) {
        torus_route(a, b, links);
    }
    links.push_back(port(target, false));
}

}  // namespace weft::lab
