// SPDX-License-Identifier: BSD-3-Clause
// logp_optimal.cpp - broadcast along the tree that the LogP model calls best.
//
// Idea     Whoever has the vector sends it on without pause; the tree holds the n ranks that it reaches
//          first. A subtree of m ranks gets the least time that suffices for m, its first child the
//          largest part that the time allows, and so on.
// Source   Karp, Sahay, Santos and Schauser, Optimal broadcast and summation in the LogP model.
// Rounds   By the costs: a message takes latency + 2 overhead, a sender starts one each gap (or
//          overhead). The time is the least t with reach(t) >= n, where reach(t) is 1 below the first
//          arrival and else reach(t - gap) + reach(t - latency - 2 overhead). Messages: n - 1.
// Bytes    The root sends as many vectors as it starts messages in that time.
// Memory   One slot; with segments two copies of it and a credit for each child.
// Good for Short vectors on a network whose costs are known. Only ratios of the costs matter.
// Holds    Not synchronizing: the root never waits (but for credits).
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/broadcast/tree.hpp"
#include "collectives/logp_costs.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_logp_optimal(const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    const base::Result<patterns::LogP> costs = logp_costs(spec);
    if (!costs) return costs.failure();
    return broadcast_along(patterns::logp_tree(request.size, *costs), spec, request);
}

}  // namespace

Algorithm broadcast_logp_optimal() {
    return {
        .collective = "broadcast",
        .name = "logp-optimal",
        .summary = "along the tree that reaches all ranks soonest in the LogP model",
        .source = "Karp et al., Optimal broadcast in the LogP model",
        .parameters = logp_parameters(),
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_logp_optimal,
    };
}

}  // namespace weft::collectives
