// SPDX-License-Identifier: BSD-3-Clause
// dissemination.cpp - barrier by k-way dissemination.
//
// Idea     In round i every rank signals the ranks j*(k+1)^i behind it, j = 1..k, and waits for the
//          k in front. After the round it has heard, directly or not, from (k+1)^(i+1) ranks.
// Source   Hensgen, Finkel and Manber's dissemination barrier; Hoefler et al., n-way dissemination.
// Rounds   ceil(log_{k+1} n). Signals: at most k a round and rank; distances of n and more are
//          skipped (whoever is that far away has been heard from already).
// Memory   k + 1 numbers a round, no data.
// Good for Any n. k = 1 sends least; k = n - 1 is one round, best where peers share a flag.
// Holds    Numbers of round i start at i*(k+1). If (k+1)^(i+1) divides n the round is *aligned*:
//          the ranks that one rank hears from differ in digit i of their rank in base k+1, so each
//          sender uses that digit for all its receivers and the signals are kShared. Else the
//          number is j - 1 and differs from receiver to receiver. The single round of k = n - 1 is
//          aligned, and its number is the sender's rank.
#include <algorithm>

#include "collectives/barrier/barrier.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives {

namespace {

base::Result<plan::Stages> dissemination_stages(const AlgorithmSpec& spec,
                                                const GenerateRequest& request) {
    const base::Result<std::int64_t> k = number_parameter(
        spec, "k", {.fallback = 1, .least = 1, .most = std::numeric_limits<Rank>::max() - 1});
    if (!k) return k.failure();
    const std::int64_t radix = std::min<std::int64_t>(*k, std::max(1, request.size - 1)) + 1;
    plan::Program header = program_header("barrier", spec, request);
    header.root = plan::kNoRank;
    header.synchronizing = true;
    plan::Stages stages = plan::begin_stages(std::move(header));
    for (std::int64_t reach = 1; reach < request.size; reach *= radix)
        stages.add(plan::Circle{
            .reach = reach, .radix = radix, .aligned = request.size % (reach * radix) == 0});
    return stages;
}

}  // namespace

Algorithm barrier_dissemination() {
    return {
        .collective = "barrier",
        .name = "dissemination",
        .summary = "k signals a round, ceil(log n) rounds in base k + 1",
        .source = "Hoefler et al., n-way dissemination",
        .parameters = {{"k", "1", "signals a round; n - 1 gives one round"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .stages = &dissemination_stages,
    };
}

}  // namespace weft::collectives
