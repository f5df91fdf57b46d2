// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "plan/simulate/model.hpp"

namespace weft::plan {

namespace {

/// How ranks of a node come by each other's data, if there is a choice.
std::string way_of(const Choice& choice, const Machine& machine) {
    const auto candidates = std::span(choice.candidates);
    const auto in_place = std::ranges::find(candidates, true, &RankedCandidate::in_place);
    if (in_place == candidates.end()) return {};
    const std::string_view reach = machine.by_kernel
                                       ? "having the kernel copy between buffers of node-mates"
                                       : "using buffers of node-mates where they lie";
    if (candidates[choice.chosen].in_place) return fmt::format("; by {}", reach);
    return fmt::format("; through put targets: {} would take {:.3f} us ({})", reach,
                       nanoseconds(in_place->predicted) * 1e-3, in_place->algorithm);
}

std::string reason_of(const Choice& choice, const Machine& machine, const Needs& needs) {
    const RankedCandidate& chosen = choice.candidates[choice.chosen];
    const auto us = [](Time time) { return nanoseconds(time) * 1e-3; };
    const auto able = std::ranges::count_if(choice.candidates, &RankedCandidate::fulfils);
    std::string text =
        chosen.in_stream == chosen.predicted
            ? fmt::format("least predicted time, {:.3f} us, of {} candidates", us(chosen.predicted),
                          able)
            : fmt::format(
                  "least predicted time in a stream of calls, which overlap, {:.3f} us "
                  "each ({:.3f} us alone), of {} candidates",
                  us(chosen.in_stream), us(chosen.predicted), able);
    if (needs.ordered) text += " that combine in rank order";
    if (needs.bit_identical)
        text += fmt::format("{} give all ranks the same bits", needs.ordered ? " and" : " that");
    text += way_of(choice, machine);
    if (machine.crowded())
        text += fmt::format("; {} ranks of a host share {} processors", machine.host_ranks,
                            machine.host_processors);
    if (choice.chosen > 0)
        text += fmt::format("; {} would take {:.3f} us but does not fulfil that",
                            choice.candidates.front().algorithm,
                            us(choice.candidates.front().predicted));
    const auto next = std::ranges::find_if(
        choice.candidates.begin() + static_cast<std::ptrdiff_t>(choice.chosen) + 1,
        choice.candidates.end(), &RankedCandidate::fulfils);
    if (next != choice.candidates.end())
        text += fmt::format("; next is {} with {:.3f} us", next->algorithm, us(next->predicted));
    return text;
}

/// The order in which the candidates were given, on which equal times depend.
void keep_order(Choice& choice, std::span<const Candidate> candidates) {
    std::ranges::sort(choice.candidates, {}, [&](const RankedCandidate& ranked) {
        return std::ranges::find(candidates, ranked.algorithm, &Candidate::algorithm) -
               candidates.begin();
    });
}

bool fulfils(const Candidate& candidate, const Needs& needs) {
    return (candidate.ordered || !needs.ordered) &&
           (candidate.bit_identical || !needs.bit_identical);
}

/// Those that may be chosen, by what they take at the least.
std::vector<std::pair<Time, const Candidate*>> in_order_of_least_time(
    const Machine& machine, Rank size, std::span<const Candidate> candidates,
    const VectorSize& vector, const Needs& needs) {
    std::vector<std::pair<Time, const Candidate*>> order;
    for (const Candidate& candidate : candidates) {
        if (!fulfils(candidate, needs)) continue;
        const auto least = least_time(machine, size, candidate, vector, 0);
        if (least) order.emplace_back(*least, &candidate);
    }
    std::ranges::stable_sort(order, {}, &std::pair<Time, const Candidate*>::first);
    return order;
}

/// Whether a rank other than the first one is known to take longer than that. The last one is the
/// farthest from rank 0 in most trees.
bool takes_longer(const Machine& machine, Rank size, const Candidate& candidate,
                  const VectorSize& vector, Time best) {
    return std::ranges::any_of(std::array{size - 1, size / 2}, [&](Rank rank) {
        const auto least = least_time(machine, size, candidate, vector, rank);
        return least.ok() && *least > best;
    });
}

}  // namespace

base::Result<Choice> select(const Machine& machine, Rank size,
                            std::span<const Candidate> candidates, const VectorSize& vector,
                            const Needs& needs, Scope scope) {
    Choice choice;
    std::vector<std::pair<Time, const Candidate*>> order;
    if (scope == Scope::chosen)
        order = in_order_of_least_time(machine, size, candidates, vector, needs);
    else
        for (const Candidate& candidate : candidates) order.emplace_back(0, &candidate);
    constexpr Time kUnknown = std::numeric_limits<Time>::max();
    Time best = kUnknown;  // stays so if all are to be predicted
    for (const auto& [least, each] : order) {
        if (least > best) break;
        const Candidate& candidate = *each;
        if (best != kUnknown && takes_longer(machine, size, candidate, vector, best)) continue;
        const auto predicted = predict(machine, size, candidate, vector);
        if (!predicted) continue;  // it does not fit this number of ranks
        choice.candidates.push_back({.algorithm = candidate.algorithm,
                                     .predicted = predicted->time,
                                     .in_stream = predicted->in_stream,
                                     .messages = predicted->messages,
                                     .in_place = predicted->in_place,
                                     .ordered = candidate.ordered,
                                     .bit_identical = candidate.bit_identical,
                                     .fulfils = fulfils(candidate, needs)});
        if (scope == Scope::chosen) best = std::min(best, predicted->in_stream);
    }
    if (scope == Scope::chosen) keep_order(choice, candidates);
    std::ranges::stable_sort(choice.candidates, {}, [](const RankedCandidate& candidate) {
        return std::tuple(candidate.in_stream, candidate.predicted, candidate.messages);
    });
    const auto first = std::ranges::find_if(choice.candidates, &RankedCandidate::fulfils);
    if (first == choice.candidates.end())
        return base::fail(Status::unsupported,
                          "no algorithm of {} fits {} ranks and meets the needs of the call",
                          candidates.size(), size);
    choice.chosen = static_cast<std::size_t>(first - choice.candidates.begin());
    choice.reason = reason_of(choice, machine, needs);
    return choice;
}

}  // namespace weft::plan
