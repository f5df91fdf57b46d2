// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/put_models.hpp"

#include <algorithm>
#include <vector>

namespace weft::plan {

Ways ways_of(const Machine& machine) {
    const std::vector<Rank>& nodes = machine.node_of;
    if (std::ranges::all_of(nodes, [&](Rank node) { return node == nodes.front(); }))
        return Ways::near;
    if (machine.card.held(1) > 0 || std::ranges::adjacent_find(nodes) != nodes.end())
        return Ways::both;
    if (std::ranges::is_sorted(nodes)) return Ways::far;
    auto sorted = nodes;
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) != sorted.end() ? Ways::both : Ways::far;
}

Time latency_of(const Machine& machine, const PutCost& cost) {
    if (!machine.crowded()) return cost.latency;
    return cost.latency + cost.turn * machine.host_ranks / machine.host_processors;
}

MessageModel model_of(const Machine& machine, const PutCost& cost, bool waits, bool computes) {
    MessageModel model;
    if (waits) model.latency = latency_of(machine, cost);
    if (!computes) return model;
    model.busy_base = cost.issue;
    model.byte_fs = cost.byte_fs;
    model.slot = cost.slot;
    model.cell_bytes = machine.cell_bytes;
    model.receive = cost.receive;
    model.reduce = machine.reduce;
    model.reduce_byte_fs = machine.reduce_byte_fs;
    model.mapped = machine.mapped;
    model.mapped_byte_fs = machine.mapped_byte_fs;
    model.mapped_reduce_byte_fs = machine.mapped_reduce_byte_fs;
    return model;
}

PutModels put_models(const Machine& machine, bool waits, bool computes) {
    const Ways ways = ways_of(machine);
    if (ways != Ways::both)
        return {model_of(machine, ways == Ways::far ? machine.far : machine.near, waits, computes),
                {}};
    // The receiver's part is charged to the sender: only there near and far are distinguished.
    MessageModel far = model_of(machine, machine.far, waits, computes);
    if (computes) far.busy_base += machine.far.receive - machine.near.receive;
    return {model_of(machine, machine.near, waits, computes),
            FarPuts{far, computes ? machine.card : Card{}, &machine.node_of}};
}

}  // namespace weft::plan
