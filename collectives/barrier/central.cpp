// SPDX-License-Identifier: BSD-3-Clause
// central.cpp - barrier through rank 0.
//
// Idea     All ranks signal rank 0. When all signals have arrived, rank 0 signals all ranks.
// Source   The central-counter barrier, with one flag for each arrival instead of the counter.
// Rounds   2. Signals: 2*(n-1), all at rank 0.
// Memory   n numbers, no data.
// Good for Few ranks of one node: rank 0 writes one published line that all others read.
// Holds    The number of every signal is its sender's rank. The release is kShared.
#include "collectives/entries.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Program> generate_central(const AlgorithmSpec& spec,
                                             const GenerateRequest& request) {
    plan::Builder builder(program_header("barrier", spec, request));
    if (request.rank == 0) {
        for (Rank rank = 1; rank < request.size; ++rank) builder.wait(rank, as_u32(rank));
        for (Rank rank = 1; rank < request.size; ++rank) builder.signal(rank, 0, plan::kShared);
    } else {
        builder.signal(0, as_u32(request.rank));
        builder.wait(0, 0, plan::kShared);
    }
    builder.reserve_slots(request.size > 1 ? as_u32(request.size) : 0);
    return std::move(builder).finish();
}

}  // namespace

Algorithm barrier_central() {
    return {
        .collective = "barrier",
        .name = "central",
        .summary = "all ranks signal rank 0, then rank 0 signals all",
        .source = "the central barrier of shared-memory machines",
        .parameters = {},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_central,
    };
}

}  // namespace weft::collectives
