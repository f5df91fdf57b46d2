// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "plan/select/prediction.hpp"

namespace weft::plan {

namespace {

/// Steps of the samples of all candidates of a call.
constexpr std::size_t kStepsOfCall = 60'000;

/// Returns the text about access to other ranks' buffers, if some candidate uses it.
std::string way_of(const Choice& choice, const Machine& machine) {
    struct Way {
        bool RankedCandidate::*taken;
        std::string_view text;
    };
    const std::array ways{
        Way{&RankedCandidate::in_place,
            machine.by_kernel ? "having the kernel copy between buffers of local peers"
                              : "using buffers of local peers in place"},
        Way{&RankedCandidate::lands, "putting into the vectors of ranks on other nodes"}};
    const auto candidates = std::span(choice.candidates);
    const RankedCandidate& chosen = candidates[choice.chosen];
    std::string text;
    for (const Way& way : ways)
        if (chosen.*way.taken)
            text += fmt::format("{} {}", text.empty() ? "; by" : " and", way.text);
    if (!text.empty()) return text;
    for (const Way& way : ways) {
        const auto other = std::ranges::find(candidates, true, way.taken);
        if (other != candidates.end())
            return fmt::format("; through put targets: {} would take {:.3f} us ({})", way.text,
                               nanoseconds(other->predicted) * 1e-3, other->algorithm);
    }
    return {};
}

bool fulfils(const Candidate& candidate, const Needs& needs) {
    return (candidate.ordered || !needs.ordered) &&
           (candidate.bit_identical || !needs.bit_identical);
}

RankedCandidate ranked(const Candidate& candidate, const Predicted& predicted, const Needs& needs) {
    return {.algorithm = candidate.algorithm,
            .predicted = predicted.time,
            .in_stream = predicted.in_stream,
            .messages = predicted.messages,
            .in_place = predicted.in_place,
            .lands = predicted.lands,
            .ordered = candidate.ordered,
            .bit_identical = candidate.bit_identical,
            .fulfils = fulfils(candidate, needs)};
}

/// A candidate, in the order of rough times.
struct Contender {
    const Candidate* candidate = nullptr;
    std::unique_ptr<Prediction> prediction;
    Time rough = 0;
};

/// Returns the candidates that support the team size.
std::vector<Contender> contenders(const Machine& machine, Rank size,
                                  std::span<const Candidate> candidates, const VectorSize& vector,
                                  const Needs& needs, Scope scope) {
    std::vector<Contender> found;
    for (const Candidate& candidate : candidates) {
        if (scope == Scope::chosen && !fulfils(candidate, needs)) continue;
        auto prediction = std::make_unique<Prediction>(machine, size, candidate, vector);
        const auto rough = prediction->rough();
        if (rough) found.push_back({&candidate, std::move(prediction), *rough});
    }
    std::ranges::stable_sort(found, {}, &Contender::rough);
    return found;
}

/// Returns the steps of each sample, so that those of a call's candidates together have about
/// kStepsOfCall. Candidates with equal programs, which only Scope::all has, count once.
std::size_t steps_of_sample(std::span<const Contender> all, const Needs& needs) {
    std::vector<Time> times;
    for (const Contender& each : all)
        if (fulfils(*each.candidate, needs) && (times.empty() || times.back() != each.rough))
            times.push_back(each.rough);
    const auto close = std::ranges::count_if(
        times, [&](Time time) { return time <= Prediction::kSurelyLonger * times.front(); });
    return std::clamp(kStepsOfCall / std::max<std::size_t>(1, static_cast<std::size_t>(close)),
                      kStepsOfSample / 4, kStepsOfSample);
}

/// Predicts all candidates, or only those that may be the fastest, in the given order.
std::vector<RankedCandidate> predict_each(const Machine& machine, Rank size,
                                          std::span<const Candidate> candidates,
                                          const VectorSize& vector, const Needs& needs,
                                          Scope scope) {
    const auto all = contenders(machine, size, candidates, vector, needs, scope);
    const std::size_t steps = steps_of_sample(all, needs);
    std::map<const Candidate*, RankedCandidate> found;
    Time best = std::numeric_limits<Time>::max();
    for (const Contender& each : all) {
        if (each.rough / Prediction::kSurelyLonger > best) break;
        const auto predicted = each.prediction->full(steps, best);
        if (!predicted || predicted->in_stream > best) continue;
        found.emplace(each.candidate, ranked(*each.candidate, *predicted, needs));
        if (scope == Scope::chosen) best = predicted->in_stream;
    }
    std::vector<RankedCandidate> in_order;
    for (auto& [candidate, of] : found) in_order.push_back(std::move(of));
    return in_order;
}

}  // namespace

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
    const RankedCandidate& first = choice.candidates.front();
    if (choice.chosen > 0)
        text += fmt::format("; {} would take {:.3f} us{}", first.algorithm, us(first.predicted),
                            first.fulfils ? " in the simulator" : " but does not fulfil that");
    const auto next = std::ranges::find_if(
        choice.candidates.begin() + static_cast<std::ptrdiff_t>(choice.chosen) + 1,
        choice.candidates.end(), &RankedCandidate::fulfils);
    if (next != choice.candidates.end())
        text += fmt::format("; next is {} with {:.3f} us", next->algorithm, us(next->predicted));
    return text;
}

base::Result<Choice> select(const Machine& machine, Rank size,
                            std::span<const Candidate> candidates, const VectorSize& vector,
                            const Needs& needs, Scope scope) {
    Choice choice;
    choice.candidates = predict_each(machine, size, candidates, vector, needs, scope);
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
