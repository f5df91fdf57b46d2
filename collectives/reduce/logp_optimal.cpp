// SPDX-License-Identifier: BSD-3-Clause
// logp_optimal.cpp - reduce along the tree that the LogP model calls best for a broadcast, turned round.
//
// Idea     The broadcast of broadcast/logp_optimal.cpp run backwards in time: a rank that is served first
//          there sends last here, so sums arrive one gap apart.
// Source   Karp, Sahay, Santos and Schauser, Optimal broadcast and summation in the LogP model.
// Rounds   By the costs; the time is that of the broadcast, but for the time that adding takes. Messages:
//          n - 1.
// Bytes    Every rank but the root sends one vector; the root reduces one for each of its children.
// Memory   A slot for each child of the root; with segments two copies each and a credit. A scratch vector
//          where a rank has children.
// Good for Short vectors on a network whose costs are known. Only ratios of the costs matter.
// Holds    Not synchronizing. In rank order if the root is rank 0, or at the price of one message more
//          (tree.hpp).
#include "collectives/logp_costs.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/reduce/tree.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_logp_optimal(const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    const base::Result<patterns::LogP> costs = logp_costs(spec);
    if (!costs) return costs.failure();
    return reduce_along(patterns::logp_tree(request.size, *costs), spec, request);
}

}  // namespace

Algorithm reduce_logp_optimal() {
    return {
        .collective = "reduce",
        .name = "logp-optimal",
        .summary = "along the tree that is fastest in the LogP model",
        .source = "Karp et al., Optimal broadcast and summation in the LogP model",
        .parameters = logp_parameters(),
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_logp_optimal,
    };
}

}  // namespace weft::collectives
