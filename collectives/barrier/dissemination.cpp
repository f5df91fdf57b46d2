// SPDX-License-Identifier: BSD-3-Clause
// dissemination.cpp - barrier by k-way dissemination.
//
// Idea     In round i every rank signals the ranks j*(k+1)^i after it, j = 1..k, and waits for
//          the k ranks at these distances before it. After the round it knows that (k+1)^(i+1)
//          ranks, itself included, have entered. With rounds=(a3,a2) the radix k + 1 is 3 in the
//          first round and 2 in the second.
// Source   Hensgen, Finkel and Manber's dissemination barrier; Hoefler et al., n-way dissemination.
// Rounds   ceil(log_{k+1} n). Signals: at most k from each rank in a round. Distances of n and more
//          are skipped, because those ranks are known to have entered.
// Memory   k + 1 numbers a round, no data.
// Good for Any n. k = 1 sends the fewest signals. k = n - 1 is one round, best if peers
//          share a flag.
// Holds    Numbers of round i start at i*(k+1). If (k+1)^(i+1) divides n the round is *aligned*:
//          the ranks that signal one rank differ in digit i of their rank in base k+1. Each sender
//          then uses that digit as the number for all receivers, and the signals are kShared.
//          Otherwise the number is j - 1 and differs between receivers. The single round of k = n -
//          1 is aligned, and its number is the sender's rank.
#include <algorithm>
#include <limits>

#include "collectives/entries.hpp"
#include "collectives/generate/radices.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::collectives {

namespace {

/// Returns the radices of the rounds; their product is at least the number of ranks.
base::Result<std::vector<std::int64_t>> radices_of(const AlgorithmSpec& spec, Rank size) {
    std::vector<std::int64_t> radices;
    std::int64_t reach = 1;
    if (const SpecParameter* rounds = spec.find("rounds"); rounds != nullptr) {
        const auto refuse = [&](std::string_view why) {
            return base::fail(Status::argument,
                              "character {}: rounds {}; expected a form such as rounds=(a3,a2)",
                              rounds->position, why);
        };
        if (spec.find("k") != nullptr) return refuse("and k exclude each other");
        if (rounds->nested.empty() || !rounds->nested.front().is_schedule())
            return refuse("must be stages of the notation in parentheses");
        for (const Stage& stage : rounds->nested.front().schedule) {
            if (stage.kind != StageKind::factor) return refuse("must be a-stages");
            radices.push_back(stage.base);
            reach = std::min<std::int64_t>(reach * stage.base, std::numeric_limits<Rank>::max());
        }
        if (reach < size) return refuse(fmt::format("reach {} ranks of {}", reach, size));
        return radices;
    }
    const Rank k = WEFT_TRY(radix_parameter(spec, 1, 1));
    const std::int64_t radix = std::min(k, std::max(1, size - 1)) + 1;
    for (; reach < size; reach *= radix) radices.push_back(radix);
    return radices;
}

base::Result<plan::Stages> dissemination_stages(const GenerateRequest& request) {
    const auto radices = WEFT_TRY(radices_of(*request.spec, request.size));
    plan::Stages stages = plan::begin_stages(program_header(request));
    std::int64_t reach = 1;
    for (const std::int64_t radix : radices) {
        if (reach >= request.size) break;
        stages.add(plan::ShiftStage{
            .reach = reach, .radix = radix, .aligned = request.size % (reach * radix) == 0});
        reach *= radix;
    }
    return stages;
}

/// Returns the spec with the smallest k for each number of rounds, and the radices that are
/// cheapest by cheapest_cover().
std::vector<std::string> dissemination_variants(const CandidateRequest& request) {
    constexpr Rank kMost = 1024;  // limit of k, the signals of a rank in a round
    std::vector<std::string> specs;
    for (const Rank radix : smallest_radices(request.size))
        if (radix <= kMost + 1) specs.push_back(fmt::format("dissemination:k={}", radix - 1));
    std::string cheapest;
    for (const Rank factor : cheapest_cover(request.size, request.stage))
        cheapest += fmt::format("{}a{}", cheapest.empty() ? "" : ",", factor);
    if (!cheapest.empty()) specs.push_back(fmt::format("dissemination:rounds=({})", cheapest));
    return specs;
}

}  // namespace

Algorithm barrier_dissemination() {
    return {.collective = "barrier",
            .name = "dissemination",
            .summary = "k signals a round, ceil(log n) rounds in base k + 1",
            .source = "Hoefler et al., n-way dissemination",
            .parameters = {{"k", "1", "signals a round; n - 1 gives one round"},
                           {"rounds", "(k)", "radices of the rounds instead, as in (a3,a2)"}},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .stages = &dissemination_stages,
            .variants = &dissemination_variants};
}

}  // namespace weft::collectives
