// SPDX-License-Identifier: BSD-3-Clause
// node_proof.hpp - layouts, proofs of programs on nodes, and counts of network messages.
#pragma once

#include <map>
#include <set>

#include "plan/schedule/step.hpp"
#include "tests/model/collectives/proof.hpp"

namespace weft::collectives {

inline plan::Layout layout_by(const std::vector<Rank>& ranks_per_node) {
    std::vector<Rank> node_of;
    for (std::size_t node = 0; node < ranks_per_node.size(); ++node)
        node_of.insert(node_of.end(), static_cast<std::size_t>(ranks_per_node[node]),
                       static_cast<Rank>(node));
    return plan::Layout::of(node_of);
}

/// Returns ranks dealt round-robin over the nodes.
inline plan::Layout dealt_layout(Rank size, Rank nodes) {
    std::vector<Rank> node_of;
    for (Rank rank = 0; rank < size; ++rank) node_of.push_back(rank % nodes);
    return plan::Layout::of(node_of);
}

inline std::vector<plan::Layout> irregular_layouts() {
    const std::vector<Rank> mixed{5, 9, 5, 5, 9, 7, 7, 5, 9};
    return {layout_by({3, 1, 4}),    layout_by({1, 5}),    layout_by({2, 2, 3}),
            layout_by({4, 1, 1, 1}), layout_by({1, 1, 6}), layout_by({5, 4, 3}),
            dealt_layout(7, 2),      dealt_layout(9, 3),   dealt_layout(5, 5),
            plan::Layout::of(mixed)};
}

/// Returns layouts with nodes of non-consecutive ranks, at equal and unequal distances.
inline std::vector<plan::Layout> scattered_layouts() {
    std::vector<plan::Layout> layouts;
    for (const std::vector<Rank>& node_of : {std::vector<Rank>{0, 1, 1, 2, 0, 2},
                                             {0, 1, 2, 0, 1, 1, 0, 2, 2},
                                             {0, 1, 0, 1, 0, 2, 2, 2, 1}})
        layouts.push_back(plan::Layout::of(node_of));
    return layouts;
}

/// Returns every layout of `size` ranks.
inline std::vector<plan::Layout> every_layout(Rank size) {
    std::vector<plan::Layout> layouts;
    std::vector<Rank> node_of(static_cast<std::size_t>(size));
    const auto place = [&](const auto& next, std::size_t rank, Rank nodes) -> void {
        if (rank == node_of.size()) {
            layouts.push_back(plan::Layout::of(node_of));
            return;
        }
        for (Rank node = 0; node <= nodes; ++node) {
            node_of[rank] = node;
            next(next, rank + 1, std::max(nodes, node + 1));
        }
    };
    place(place, 0, 0);
    return layouts;
}

inline std::vector<plan::Program> programs_on(const plan::Layout& layout,
                                              std::string_view collective, const std::string& spec,
                                              GenerateRequest request) {
    request.size = layout.size();
    request.layout = layout;
    if (!is_rooted(collective)) request.root = plan::kNoRank;
    if (collective == "barrier") request.elements = 0;
    return generate_all(collective, *parse_spec(spec), request);
}

/// Returns the programs as the runtime rewrites them for local peers if payloads fit into cells.
inline std::vector<plan::Program> localized(const plan::Layout& layout,
                                            std::vector<plan::Program> programs) {
    for (plan::Program& program : programs)
        program = plan::localize(
            program, [&, rank = program.rank](Rank peer) { return layout.near(peer, rank); });
    return programs;
}

/// Expects that the programs are right as generated, and as localized. Returns the verdict of the
/// programs as generated.
inline plan::Verdict proves(std::string_view collective, const std::string& spec,
                            const plan::Layout& layout, const GenerateRequest& request = {}) {
    const auto programs = programs_on(layout, collective, spec, request);
    const std::uint64_t elements = collective == "barrier" ? 0 : request.elements;
    const auto verdict = prove(collective, programs, elements);
    EXPECT_TRUE(verdict.valid) << collective << ' ' << spec << " on " << layout.size() << " ranks, "
                               << layout.nodes() << " nodes, root " << request.root << ", "
                               << request.segments << " segments: " << verdict.error;
    const auto after = prove(collective, localized(layout, programs), elements);
    EXPECT_TRUE(after.valid) << collective << ' ' << spec << " on " << layout.size() << " ranks, "
                             << layout.nodes() << " nodes, localized, root " << request.root << ": "
                             << after.error;
    return verdict;
}

/// Puts and signals to other nodes.
struct NetworkTraffic {
    std::uint64_t rounds = 0;  ///< messages in the longest chain
    std::uint64_t messages = 0;
    std::vector<std::uint64_t> units;  ///< number of units that each rank sends
};

/// Runs programs without loops, step by step, until no step can proceed. All must end.
inline NetworkTraffic network_traffic(const plan::Layout& layout,
                                      const std::vector<plan::Program>& programs) {
    NetworkTraffic traffic;
    traffic.units.resize(programs.size());
    std::map<std::tuple<Rank, Rank, std::uint32_t>, std::uint64_t> raised;
    struct LaneState {
        const plan::Program* program;
        std::uint32_t next, end;
    };
    std::vector<LaneState> lanes;
    std::vector<std::uint64_t> chain(programs.size());  // messages in a rank's longest chain
    for (const plan::Program& program : programs)
        for (const plan::Lane& lane : program.lanes)
            lanes.push_back({&program, lane.first, lane.first + lane.count});
    for (bool advanced = true; advanced;) {
        advanced = false;
        for (LaneState& at : lanes) {
            const Rank rank = at.program->rank;
            std::uint64_t& own = chain[static_cast<std::size_t>(rank)];
            for (; at.next < at.end; ++at.next, advanced = true) {
                const plan::Step& step = at.program->steps[at.next];
                if (step.kind == plan::StepKind::wait) {
                    const auto found = raised.find({step.peer, rank, step.signal});
                    if (found == raised.end()) break;
                    own = std::max(own, found->second);
                    continue;
                }
                if (step.kind != plan::StepKind::put && step.kind != plan::StepKind::signal)
                    continue;
                const bool remote = !layout.near(rank, step.peer);
                raised[{rank, step.peer, step.signal}] = own + (remote ? 1 : 0);
                traffic.rounds = std::max(traffic.rounds, own + (remote ? 1 : 0));
                if (!remote) continue;
                ++traffic.messages;
                for (const plan::Block& block :
                     std::span(at.program->blocks).subspan(step.source.start, step.source.count))
                    traffic.units[static_cast<std::size_t>(rank)] += block.count;
            }
        }
    }
    for (const LaneState& at : lanes) EXPECT_EQ(at.next, at.end);
    return traffic;
}

inline std::uint64_t network_rounds(const plan::Layout& layout,
                                    const std::vector<plan::Program>& programs) {
    return network_traffic(layout, programs).rounds;
}

}  // namespace weft::collectives
