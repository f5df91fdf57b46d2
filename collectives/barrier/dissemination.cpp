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
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

void write_round(plan::Builder& builder, const GenerateRequest& request, std::int64_t radix,
                 std::int64_t reach, std::uint32_t first_number) {
    const std::int64_t size = request.size;
    const bool aligned = size % (reach * radix) == 0;
    const std::uint8_t flags = aligned ? plan::kShared : 0;
    const auto number = [&](std::int64_t sender, std::int64_t j) {
        return first_number + static_cast<std::uint32_t>(aligned ? sender / reach % radix : j - 1);
    };
    for (std::int64_t j = 1; j < radix && j * reach < size; ++j)
        builder.signal(static_cast<Rank>((request.rank + j * reach) % size),
                       number(request.rank, j), flags);
    for (std::int64_t j = 1; j < radix && j * reach < size; ++j) {
        const std::int64_t sender = (request.rank - j * reach + size) % size;
        builder.wait(static_cast<Rank>(sender), number(sender, j), flags);
    }
}

base::Result<plan::Program> generate_dissemination(const AlgorithmSpec& spec,
                                                   const GenerateRequest& request) {
    const base::Result<std::int64_t> k = number_parameter(
        spec, "k", {.fallback = 1, .least = 1, .most = std::numeric_limits<Rank>::max() - 1});
    if (!k) return k.failure();
    const std::int64_t radix = std::min<std::int64_t>(*k, std::max(1, request.size - 1)) + 1;
    plan::Program header = program_header("barrier", spec, request);
    header.root = plan::kNoRank;
    header.synchronizing = true;
    plan::Builder builder(std::move(header));
    std::uint32_t first_number = 0;
    for (std::int64_t reach = 1; reach < request.size; reach *= radix) {
        write_round(builder, request, radix, reach, first_number);
        first_number += static_cast<std::uint32_t>(radix);
    }
    builder.reserve_slots(first_number);
    return std::move(builder).finish();
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
        .generate = &generate_dissemination,
    };
}

}  // namespace weft::collectives
