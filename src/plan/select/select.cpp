// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tuple>

#include "plan/schedule/step.hpp"
#include "plan/select/chain.hpp"
#include "plan/simulate/model.hpp"

namespace weft::plan {

namespace {

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

/// Restores the order in which the candidates were given; it breaks ties.
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

/// Priority queue by lower bound. The first bound is the chain from rank 0. The minimum is
/// expanded and inserted again with a tighter bound: by other messages, by other ranks that often
/// end last, and then by more hops from the slowest of them. Candidates with a quick prediction
/// are not expanded.
class Queue {
  public:
    Queue(const Machine& machine, Rank size, std::span<const Candidate> candidates,
          const VectorSize& vector, const Needs& needs)
        : machine_(machine), size_(size), vector_(vector) {
        for (const Candidate& candidate : candidates) {
            if (!fulfils(candidate, needs)) continue;
            Entry entry{.index = candidates_.size()};
            candidates_.push_back(with_kept_programs(candidate, size));
            if (ask(entry, {})) waiting_.push(entry);
        }
    }

    /// Returns the next candidate; nullptr if all others take longer than `best`. Candidates
    /// whose chains were not followed to their start come last, since they may take much longer
    /// than their bound.
    [[nodiscard]] const Candidate* next(Time best) {
        if (best != kForever)
            for (; !aside_.empty(); aside_.pop_back()) waiting_.push(aside_.back());
        while (!waiting_.empty() && waiting_.top().least.time <= best) {
            Entry entry = waiting_.top();
            waiting_.pop();
            if (entry.turn == 0 &&
                is_quickly_predicted(machine_, size_, candidates_[entry.index], vector_))
                return &candidates_[entry.index];
            if (entry.turn == 0) entry.ends = ends_of(candidates_[entry.index]);
            const bool all = entry.turn > entry.ends.size();
            if (all && entry.least.whole) {
                if (best != kForever) {
                    if (takes_longer(candidates_[entry.index], best)) continue;
                    return &candidates_[entry.index];
                }
                if (!has_lanes(candidates_[entry.index])) return &candidates_[entry.index];
                aside_.push_back(entry);
                continue;
            }
            if (all && entry.end.hops_max > hops_most()) {
                last_.push(entry);
                continue;
            }
            ask_next(entry, best);
            waiting_.push(entry);
        }
        if (!aside_.empty()) {
            const Candidate& candidate = candidates_[aside_.front().index];
            aside_.erase(aside_.begin());
            return &candidate;
        }
        if (last_.empty() || last_.top().least.time > best) return nullptr;
        const Candidate& candidate = candidates_[last_.top().index];
        last_.pop();
        return &candidate;
    }

  private:
    static constexpr int kFurther = 4;
    static constexpr Time kForever = std::numeric_limits<Time>::max();
    static constexpr Time kAbout = 8;  ///< times that differ by less than 1/kAbout count as equal

    struct Entry {
        std::size_t index = 0;
        LeastTime least = {.time = -1};
        ChainEnd end;                ///< end with the largest bound
        std::vector<ChainEnd> ends;  ///< ends to ask, in order
        std::size_t turn = 0;        ///< 0: rank 0 once more; then index of the end, from 1

        friend bool operator>(const Entry& a, const Entry& b) {
            return std::tie(a.least.time, a.index) > std::tie(b.least.time, b.index);
        }
    };

    /// Tightens the bound at the next end. After the last end, follows more hops from the end with
    /// the largest bound.
    void ask_next(Entry& entry, Time best) const {
        constexpr ChainEnd kFirst;
        ChainEnd end{.hops_max = kFurther * kFirst.hops_max};
        const std::size_t turn = entry.turn++;
        if (turn > entry.ends.size()) {
            entry.end.hops_max *= kFurther;
            end = entry.end;
        } else if (turn > 0) {
            end.rank = entry.ends[turn - 1].rank;
            end.compares = entry.ends[turn - 1].compares;
        }
        end.enough = best;
        if (turn > 0 || !entry.least.whole) ask(entry, end);
    }

    /// Keeps the bound of that end if it is the largest. Returns false if the candidate does not
    /// support the team size.
    bool ask(Entry& entry, const ChainEnd& end) const {
        const auto least = least_time(machine_, size_, candidates_[entry.index], vector_, end);
        if (!least) return false;
        // If ranks far from each other take equally long, probably all ranks do.
        if (least->whole && least->time == entry.least.time && end.rank != entry.end.rank)
            entry.turn = std::max(entry.turn, entry.ends.size() + 1);
        // Among ends with similar bounds, prefer a chain that continues, then the later end: chains
        // near the root end soon.
        const Time most = entry.least.time;
        if (least->time <= most && (least->whole || least->time < most - most / kAbout))
            return true;
        entry.least = {std::max(most, least->time), least->whole};
        entry.end = end;
        return true;
    }

    /// Returns true if a sample of other ranks has a bound above `best`. Where ranks differ, few of
    /// them end last. The sample of short programs takes a tenth of the time of a prediction.
    [[nodiscard]] bool takes_longer(const Candidate& candidate, Time best) const {
        constexpr int kSampled = 32;
        // Golden ratio in thousandths: spreads any number of samples.
        constexpr std::int64_t kSpread = 618;
        constexpr std::size_t kStepsAndBlocksMax = 1000;
        const auto first = candidate.program(size_, 0);
        if (!first || first->steps.size() + first->blocks.size() > kStepsAndBlocksMax) return false;
        for (std::int64_t i = 1; i <= kSampled; ++i) {
            const auto rank = static_cast<Rank>(i * kSpread * size_ / 1000 % size_);
            const ChainEnd end{.rank = rank, .hops_max = hops_most(), .enough = best};
            const auto least = least_time(machine_, size_, candidate, vector_, end);
            if (least && least->time > best) return true;
        }
        return false;
    }

    /// Returns true if the programs have several lanes. Their simulation in order of time takes
    /// several times as long, unless it can give up at a known time.
    [[nodiscard]] bool has_lanes(const Candidate& candidate) const {
        const auto program = candidate.program(size_, size_ / 2);
        return program && program->lanes.size() > 1;
    }

    /// Returns the limit of hops, beyond which a chain takes longer than a prediction.
    [[nodiscard]] int hops_most() const { return std::max(24, size_ / 8); }

    /// Returns the ends to ask. Short programs: rank 0 with the compared messages, and the ranks
    /// that its data reaches last. All programs: ranks that most trees reach last, and ranks that
    /// mostly receive last in their groups.
    [[nodiscard]] std::vector<ChainEnd> ends_of(const Candidate& candidate) const {
        constexpr std::size_t kStepsAndBlocksMax = 512;
        std::vector<ChainEnd> ends;
        const auto first = candidate.program(size_, 0);
        if (first && first->steps.size() + first->blocks.size() <= kStepsAndBlocksMax) {
            ends.push_back({.rank = 0, .compares = true});
            for (const Rank rank : last_receivers(candidate, size_, vector_))
                ends.push_back({.rank = rank});
        }
        for (const Rank rank :
             {size_ - 1, static_cast<Rank>(std::int64_t{size_} * 2 / 3), size_ / 2})
            if (std::ranges::find(ends, ChainEnd{.rank = rank}) == ends.end())
                ends.push_back({.rank = rank});
        return ends;
    }

    const Machine& machine_;
    Rank size_;
    std::vector<Candidate> candidates_;
    const VectorSize& vector_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> last_;
    std::vector<Entry> aside_;  ///< entries with several lanes that await a first prediction
};

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

/// Predicts all candidates, or only those that may be the fastest. Skips candidates that do not
/// support the team size.
std::vector<RankedCandidate> predict_each(const Machine& machine, Rank size,
                                          std::span<const Candidate> candidates,
                                          const VectorSize& vector, const Needs& needs,
                                          Scope scope) {
    std::vector<RankedCandidate> found;
    if (scope == Scope::all) {
        for (const Candidate& candidate : candidates)
            if (const auto predicted = predict(machine, size, candidate, vector))
                found.push_back(ranked(candidate, *predicted, needs));
        return found;
    }
    Queue queue(machine, size, candidates, vector, needs);
    Time best = std::numeric_limits<Time>::max();
    while (const Candidate* candidate = queue.next(best)) {
        const auto predicted = predict(machine, size, *candidate, vector, {.most = best});
        const bool given_up = predicted && predicted->in_stream > best && !machine.crowded();
        if (!predicted || given_up) continue;
        found.push_back(ranked(*candidate, *predicted, needs));
        best = std::min(best, predicted->in_stream);
    }
    return found;
}

}  // namespace

base::Result<Choice> select(const Machine& machine, Rank size,
                            std::span<const Candidate> candidates, const VectorSize& vector,
                            const Needs& needs, Scope scope) {
    Choice choice;
    choice.candidates = predict_each(machine, size, candidates, vector, needs, scope);
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
