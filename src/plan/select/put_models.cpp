// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/put_models.hpp"

#include <algorithm>
#include <vector>

namespace weft::plan {

Paths paths_of(const Machine& machine) {
    const std::vector<Rank>& nodes = machine.node_of;
    if (std::ranges::all_of(nodes, [&](Rank node) { return node == nodes.front(); }))
        return Paths::near;
    if (machine.card.held(1) > 0 || std::ranges::adjacent_find(nodes) != nodes.end())
        return Paths::both;
    if (std::ranges::is_sorted(nodes)) return Paths::far;
    auto sorted = nodes;
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) != sorted.end() ? Paths::both : Paths::far;
}

Time latency_of(const Machine& machine, const PutCost& cost) {
    if (!machine.oversubscribed()) return cost.latency;
    return cost.latency + cost.turn * machine.host_ranks / machine.host_processors;
}

namespace {

MessageModel model_of(const Machine& machine, const PutCost& cost, bool waits, bool computes) {
    MessageModel model;
    if (waits) model.latency = latency_of(machine, cost);
    if (!computes) return model;
    model.busy_base = cost.issue;
    model.byte_fs = cost.byte_fs;
    model.slot = cost.slot;
    model.cell_bytes = machine.cell_bytes;
    model.receive = cost.receive;
    // If ranks share processors, shared_work.cpp adds up the work of all ranks on bytes.
    if (!machine.oversubscribed()) {
        model.receive_byte_fs = cost.receive_byte_fs;
        model.unpack_byte_fs = machine.unpack_byte_fs;
        model.unpacked_free = kShortBytes;
    }
    model.reduce = machine.reduce;
    model.reduce_byte_fs = machine.reduce_byte_fs;
    model.expose = machine.expose;
    model.copy_byte_fs = machine.copy_byte_fs;
    model.cold_byte_fs = machine.cold_byte_fs;
    model.cache_bytes = machine.oversubscribed()
                            ? machine.cache_bytes *
                                  static_cast<std::uint64_t>(machine.host_processors) /
                                  static_cast<std::uint64_t>(machine.host_ranks)
                            : machine.cache_bytes;
    model.mapped = machine.mapped;
    model.mapped_byte_fs = machine.mapped_byte_fs;
    model.mapped_reduce_byte_fs = machine.mapped_reduce_byte_fs;
    return model;
}

/// Returns the model of a team whose puts all use the near or all the far path.
MessageModel single_path_model(const Machine& machine, bool far, bool waits, bool computes) {
    MessageModel model = model_of(machine, far ? machine.far : machine.near, waits, computes);
    if (!far) {
        model.unpack_byte_fs = 0;  // included in the cost of a put
        return model;
    }
    model.expose = 0;
    model.cold_byte_fs = 0;  // included in the cost of copying out of put targets
    return model;
}

}  // namespace

PutModels put_models(const Machine& machine, bool waits, bool computes) {
    const Paths paths = paths_of(machine);
    if (paths != Paths::both)
        return {single_path_model(machine, paths == Paths::far, waits, computes), {}};
    // Only senders distinguish near and far, so they also pay the difference between
    // the receivers' costs.
    MessageModel near = single_path_model(machine, false, waits, computes);
    MessageModel far = model_of(machine, machine.far, waits, computes);
    const Time received = std::min(near.receive, far.receive);
    for (MessageModel* const model : {&near, &far}) {
        model->busy_base += model->receive - received;
        model->receive = received;
    }
    std::vector<Rank> ranks_on(machine.node_of.size());
    for (const Rank node : machine.node_of) ++ranks_on[static_cast<std::size_t>(node)];
    return {near, FarPuts{far, computes ? machine.card : Card{}, &machine.node_of,
                          std::ranges::max(ranks_on)}};
}

}  // namespace weft::plan
