// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <span>

#include "plan/select/executed_steps.hpp"
#include "plan/select/prediction.hpp"

namespace weft::plan {

namespace {

/// Number of steps of the samples of all candidates of a call together.
constexpr std::size_t kStepsOfCall = 80'000;
/// Number of steps of all predictions of a call from the programs of all ranks.
constexpr std::size_t kStepsOfAll = 70'000;

/// Returns the part of the reason about access to other ranks' buffers, or "" if no candidate
/// accesses them.
std::string access_reason(const Choice& choice, const Machine& machine) {
    struct Method {
        bool RankedCandidate::*uses;
        std::string_view text;
    };
    const std::array methods{
        Method{&RankedCandidate::in_place,
               machine.by_kernel ? "having the kernel copy between buffers of local peers"
                                 : "using buffers of local peers in place"},
        Method{&RankedCandidate::delivers_directly,
               "putting into the buffers of ranks on other nodes"}};
    const auto candidates = std::span(choice.candidates);
    const RankedCandidate& chosen = candidates[choice.chosen];
    std::string text;
    for (const Method& method : methods)
        if (chosen.*method.uses)
            text += fmt::format("{} {}", text.empty() ? "; by" : " and", method.text);
    if (!text.empty()) return text;
    for (const Method& method : methods) {
        const auto other = std::ranges::find(candidates, true, method.uses);
        if (other != candidates.end())
            return fmt::format("; through put targets: {} would take {:.3f} us ({})", method.text,
                               nanoseconds(other->alone) * 1e-3, other->algorithm);
    }
    return {};
}

/// Returns the energy in pJ, with the costs of infiniband-2007 (tools/lab/cost/parameters.cpp):
/// 16.5 pJ for a message, 8100 pJ for a byte, and 0.5 W during the call.
std::uint64_t energy_of(std::uint64_t messages, std::uint64_t bytes, Time time) {
    return messages * 33 / 2 + bytes * 8100 + static_cast<std::uint64_t>(time) / 2;
}

/// Number of ranks of a large team whose programs are counted, besides the first and the last one.
constexpr Rank kCountedRanks = 64;

/// Messages and bytes that the ranks of a team send, and descriptors of the busiest rank. In a
/// large team, ranks between two counted ranks are assumed to send as the first of the two does.
struct Traffic {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t descriptors = 0;
};
Traffic traffic_of(const Candidate& candidate, Rank size, const BufferSize& buffer) {
    Traffic sum;
    const auto add = [&](Rank rank, std::uint64_t times) {
        const auto program = candidate.program(rank);
        if (!program) return;
        sum.descriptors = std::max<std::uint64_t>(sum.descriptors, program->descriptors());
        ExecutedSteps(*program, buffer).for_each([&](const ExecutedStep& step) {
            if (!step.message) return;
            sum.messages += times;
            sum.bytes += times * step.bytes;
        });
    };
    const Rank inner = size <= kWholeTeam ? size - 2 : kCountedRanks;
    for (Rank i = 0; i < inner; ++i) {
        const std::int64_t others = size - 2;
        const auto first = static_cast<Rank>(1 + i * others / inner);
        const auto next = static_cast<Rank>(1 + (i + 1) * others / inner);
        add(first, static_cast<std::uint64_t>(next - first));
    }
    add(0, 1);
    if (size > 1) add(size - 1, 1);
    return sum;
}

bool fulfils(const Candidate& candidate, const Needs& needs) {
    return (candidate.ordered || !needs.ordered) &&
           (candidate.bit_identical || !needs.bit_identical);
}

/// Sets descriptors and energy of the candidates. Those above the limit do not meet the needs.
void count_traffic(Choice& choice, Rank size, std::span<const Candidate> candidates,
                   const BufferSize& buffer, const Preference& preference) {
    for (RankedCandidate& each : choice.candidates) {
        const auto found = std::ranges::find(candidates, each.algorithm, &Candidate::algorithm);
        const Traffic traffic = traffic_of(*found, size, buffer);
        each.descriptors = traffic.descriptors;
        each.energy_pj = energy_of(traffic.messages, traffic.bytes, each.alone);
        if (preference.descriptors_max > 0 && each.descriptors > preference.descriptors_max)
            each.fulfils = false;
    }
}

/// A candidate with its predictions so far.
struct Contender {
    const Candidate* candidate = nullptr;
    std::unique_ptr<Prediction> prediction;
    Time rough = 0;  ///< Prediction::rough()
    Time bound = 0;  ///< assumed lower bound of the final time
    std::optional<PredictedCost> predicted = {};
    CallTimes sampled = {};  ///< times from the sample, if `by_all`
    bool is_final = false;   ///< will not be predicted more closely
    bool is_cut = false;     ///< `predicted` is only a lower bound
    bool by_all = false;     ///< `predicted` is from the programs of all ranks
};

/// Finds the fastest of the candidates that meet the needs of the call. Repeatedly predicts the
/// candidate with the least bound more closely, until its time is final. Predictions are from very
/// few ranks, then from a sample. Small teams then get a prediction with more iterations of loops,
/// large teams one from all ranks, if their programs are short.
class Search {
  public:
    Search(const Machine& machine, Rank size, std::span<const Candidate> candidates,
           const BufferSize& buffer, const Needs& needs, Scope scope)
        : large_(size > kWholeTeam), scope_(scope) {
        Time least_rough = kForever / 4;  // so that the product below does not overflow
        for (const Candidate& candidate : candidates) {
            if (scope == Scope::chosen && !fulfils(candidate, needs)) continue;
            auto prediction = std::make_unique<Prediction>(machine, size, candidate, buffer);
            const auto rough = prediction->rough(least_rough / 2 * 3 * prediction->rough_factor());
            if (!rough) continue;  // does not support the team size
            if (*rough > 0 && fulfils(candidate, needs))
                least_rough = std::min(least_rough, *rough);
            const Time bound = *rough / prediction->rough_factor();
            all_.push_back({&candidate, std::move(prediction), *rough, bound});
        }
        for (Contender& each : all_)
            if (fulfils(*each.candidate, needs)) open_.push_back(&each);
        steps_ = steps_of_sample();
    }

    /// Returns the fastest candidate, or null.
    const Candidate* run() {
        while (!open_.empty()) {
            std::ranges::stable_sort(open_, {}, [](const Contender* each) {
                return std::pair(each->bound, each->is_final);
            });
            Contender& first = *open_.front();
            first.is_final = first.is_final || is_below_others(first);
            if (first.is_final) break;
            if (!improve(first)) open_.erase(open_.begin());
        }
        const Contender* fastest = nullptr;
        const auto order = [](const PredictedCost& cost) {
            return std::tuple(cost.in_stream, cost.alone, cost.messages);
        };
        for (const Contender& each : all_)
            if (each.is_final &&
                (fastest == nullptr || order(*each.predicted) < order(*fastest->predicted)))
                fastest = &each;
        return fastest != nullptr ? fastest->candidate : nullptr;
    }

    /// Returns all candidates with their times; with Scope::chosen only the predicted candidates.
    [[nodiscard]] std::vector<RankedCandidate> ranking(const Needs& needs) {
        std::vector<RankedCandidate> found;
        for (Contender& each : all_) {
            if (scope_ == Scope::all && !each.by_all)
                if (const auto predicted = each.prediction->full(steps_, kForever))
                    each.predicted = *predicted;
            if (each.predicted)
                found.push_back({*each.predicted, each.candidate->algorithm,
                                 each.candidate->ordered, each.candidate->bit_identical,
                                 fulfils(*each.candidate, needs)});
        }
        return found;
    }

  private:
    static constexpr Time kForever = std::numeric_limits<Time>::max();
    /// In small teams, when the steps of a call are used up, only candidates with at most this
    /// number of steps are still predicted.
    static constexpr std::size_t kFewSteps = 6'000;

    /// Returns the number of steps of each sample, so that the samples of close candidates together
    /// have about kStepsOfCall.
    [[nodiscard]] std::size_t steps_of_sample() const {
        Time least_rough = kForever;
        for (const Contender* each : open_) least_rough = std::min(least_rough, each->rough);
        const auto close = std::ranges::count_if(
            open_, [&](const Contender* each) { return each->bound <= least_rough; });
        return std::clamp(kStepsOfCall / std::max<std::size_t>(1, static_cast<std::size_t>(close)),
                          kStepsOfSample / 4, kStepsOfSample);
    }

    /// Returns true if the predicted time is less than the bounds of all other candidates.
    [[nodiscard]] bool is_below_others(const Contender& first) const {
        return first.predicted && !first.is_cut &&
               (open_.size() == 1 || (large_ && open_[1]->bound > first.predicted->in_stream));
    }

    /// Predicts a candidate more closely. Returns false if this fails or the steps are used up.
    bool improve(Contender& each) {
        Prediction& prediction = *each.prediction;
        const bool exhausted = !large_ && prediction_steps_ > kStepsOfCall && best_ < kForever;
        if (exhausted && prediction.steps_of_all(kStepsOfCall) > kFewSteps) return false;
        if (!each.predicted || each.is_cut) {
            // A prediction ends early if its time exceeds the least predicted time by half.
            const Time limit = each.is_cut || least_ == kForever ? kForever : least_ / 2 * 3;
            const Time cutoff = std::min(best_, limit);
            const auto predicted =
                large_ ? prediction.full(steps_, cutoff) : prediction.brief(cutoff);
            if (!predicted) return false;
            each.predicted = *predicted;
            each.is_cut = !each.is_cut && predicted->in_stream > limit;
            least_ = std::min(least_, predicted->in_stream);
            each.is_final =
                !each.is_cut && (large_ ? !prediction.guesses() : prediction.is_complete());
        } else if (large_) {
            predict_by_all(each);
        } else {
            const auto predicted = prediction.full(steps_, best_);
            if (!predicted) return false;
            each.predicted = *predicted;
            each.is_final = true;
        }
        prediction_steps_ += prediction.take_steps();
        each.bound = each.predicted->in_stream;
        if (!each.is_final) {
            // The final time may be less than this prediction, by up to a third or an eighth.
            each.bound = large_ ? each.bound / 3 * 2 : each.bound / 8 * 7;
            return true;
        }
        best_ = std::min(best_, each.bound);
        if (scope_ == Scope::chosen) each.prediction.reset();  // frees memory for later predictions
        return true;
    }

    void predict_by_all(Contender& each) {
        each.is_final = true;
        // Candidates with equal times from their samples have almost equal programs.
        CallTimes& times = *each.predicted;
        const auto same = std::ranges::find_if(
            all_, [&](const Contender& other) { return other.by_all && other.sampled == times; });
        std::optional<CallTimes> found;
        if (same != all_.end()) {
            found = *same->predicted;
        } else if (steps_of_all_ > 0) {
            const std::size_t steps = each.prediction->steps_of_all(kStepsOfAll);
            if (steps <= kStepsOfAll) found = each.prediction->by_all(2 * steps);
            if (found) steps_of_all_ -= std::min(steps_of_all_, steps);
        }
        if (!found) return;
        each.by_all = true;
        each.sampled = std::exchange(times, *found);
    }

    bool large_;
    Scope scope_;
    std::size_t steps_ = 0;                   ///< number of steps of each sample
    std::size_t prediction_steps_ = 0;        ///< number of steps that predictions have read
    std::size_t steps_of_all_ = kStepsOfAll;  ///< steps left for predictions from all ranks
    Time least_ = kForever;                   ///< least time of a sample
    Time best_ = kForever;                    ///< least final time
    std::vector<Contender> all_;
    std::vector<Contender*> open_;
};

}  // namespace

std::string reason_of(const Choice& choice, const Machine& machine, const Needs& needs) {
    const RankedCandidate& chosen = choice.candidates[choice.chosen];
    const auto us = [](Time time) { return nanoseconds(time) * 1e-3; };
    const auto able = std::ranges::count_if(choice.candidates, &RankedCandidate::fulfils);
    std::string text;
    if (needs.preference.objective == base::Objective::energy)
        text =
            fmt::format("least energy, {:.3f} uJ; ", static_cast<double>(chosen.energy_pj) * 1e-6);
    if (needs.preference.objective == base::Objective::descriptors)
        text = fmt::format("fewest descriptors of a rank, {}; ", chosen.descriptors);
    if (needs.preference.descriptors_max > 0)
        text += fmt::format("at most {} descriptors of a rank; ", needs.preference.descriptors_max);
    if (needs.preference.objective != base::Objective::time)
        return text +
               fmt::format("predicted time {:.3f} us, {} candidates", us(chosen.alone), able);
    text += chosen.in_stream == chosen.alone
                ? fmt::format("least predicted time, {:.3f} us, of {} candidates", us(chosen.alone),
                              able)
                : fmt::format(
                      "least predicted time in a stream of calls, which overlap, {:.3f} us each "
                      "({:.3f} us alone), of {} candidates",
                      us(chosen.in_stream), us(chosen.alone), able);
    if (needs.ordered) text += " that combine in rank order";
    if (needs.bit_identical)
        text += fmt::format("{} give all ranks the same bits", needs.ordered ? " and" : " that");
    text += access_reason(choice, machine);
    if (machine.oversubscribed())
        text += fmt::format("; {} ranks of a host share {} processors", machine.host_ranks,
                            machine.host_processors);
    const RankedCandidate& first = choice.candidates.front();
    if (choice.chosen > 0)
        text += fmt::format("; {} would take {:.3f} us{}", first.algorithm, us(first.alone),
                            first.fulfils ? " in the simulator" : " but does not meet these needs");
    const auto next = std::ranges::find_if(
        choice.candidates.begin() + static_cast<std::ptrdiff_t>(choice.chosen) + 1,
        choice.candidates.end(), &RankedCandidate::fulfils);
    if (next != choice.candidates.end())
        text += fmt::format("; next is {} with {:.3f} us", next->algorithm, us(next->alone));
    return text;
}

base::Result<Choice> select(const Machine& machine, Rank size,
                            std::span<const Candidate> candidates, const BufferSize& buffer,
                            const Needs& needs, Scope scope) {
    Choice choice;
    const Preference& preference = needs.preference;
    if (!preference.is_usual()) scope = Scope::all;
    Search search(machine, size, candidates, buffer, needs, scope);
    const Candidate* const fastest = search.run();
    choice.candidates = search.ranking(needs);
    if (!preference.is_usual()) count_traffic(choice, size, candidates, buffer, preference);
    std::ranges::stable_sort(choice.candidates, {}, [&](const RankedCandidate& candidate) {
        return candidate.order(preference.objective);
    });
    const auto first = std::ranges::find_if(choice.candidates, &RankedCandidate::fulfils);
    if (first == choice.candidates.end() && preference.descriptors_max > 0)
        return base::fail(Status::unsupported,
                          "each of {} algorithms for {} ranks needs more than {} descriptors on a "
                          "rank (WEFT_DESCRIPTORS_MAX) or does not meet the needs of the call",
                          candidates.size(), size, preference.descriptors_max);
    if (first == choice.candidates.end())
        return base::fail(Status::unsupported,
                          "no algorithm of {} supports {} ranks and meets the needs of the call",
                          candidates.size(), size);
    choice.chosen = static_cast<std::size_t>(
        (preference.is_usual() && fastest != nullptr  // nullptr: no prediction was completed
             ? std::ranges::find(choice.candidates, fastest->algorithm, &RankedCandidate::algorithm)
             : first) -
        choice.candidates.begin());
    choice.reason = reason_of(choice, machine, needs);
    return choice;
}

}  // namespace weft::plan
