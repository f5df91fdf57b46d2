// SPDX-License-Identifier: BSD-3-Clause
// prediction.hpp - predictions of a call with one candidate, from rough and cheap to precise.
//
// Idea     The programs of a few ranks give the time of a single call (sampled_ranks.hpp). If ranks
//          share processors, their work is estimated from sampled ranks (shared_work.hpp). Most
//          candidates are much slower than the best one; the programs of very few ranks suffice to
//          show this.
// Holds    Arithmetic is on whole numbers, so all ranks get the same time.
// Next     select.cpp, which uses the predictions; tools/lab/cost/cost.hpp for the programs of all
//          ranks.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "plan/select/sampled_ranks.hpp"
#include "plan/select/select.hpp"
#include "plan/select/shared_work.hpp"

namespace weft::plan {

class Prediction {
  public:
    /// The arguments must outlive this object.
    Prediction(const Machine& machine, Rank size, const Candidate& candidate,
               const BufferSize& buffer)
        : machine_(machine),
          size_(size),
          candidate_(candidate),
          buffer_(buffer),
          models_(put_models(machine, /*waits=*/true, /*computes=*/true)),
          programs_(candidate.program),
          sampled_(programs_, size, buffer, models_,
                   size <= kWholeTeam ? kIterations : kIterationsOfLarge) {}

    /// Returns a time from the programs of very few ranks, assumed to be at most rough_factor()
    /// times the full prediction. Returns 0 for small teams. If a rank alone needs more than
    /// `cutoff`, returns a lower bound above `cutoff`. Fails if the algorithm does not support the
    /// size.
    [[nodiscard]] base::Result<Time> rough(Time cutoff) {
        for (const Rank rank : {size_ - 1, 0}) {
            const auto& program = programs_.of(rank);
            if (!program) return program.failure();
            if (const Time least = least_time(*program); least > cutoff) return least;
        }
        if (size_ <= kFewRanks) return 0;
        SampledRanks ends(programs_, size_, buffer_, models_, kFewIterations);
        ends.sample_ends();
        return WEFT_TRY(times(ends, kCountedRoughly, kForever)).in_stream;
    }
    /// Returns the prediction from a sample of about `steps` steps. Times above `cutoff` are only
    /// lower bounds.
    [[nodiscard]] base::Result<PredictedCost> full(std::size_t steps, Time cutoff) {
        return by_sample(sampled_, steps, cutoff);
    }
    /// Like full(), but runs few iterations of loops.
    [[nodiscard]] base::Result<PredictedCost> brief(Time cutoff) {
        SampledRanks few(programs_, size_, buffer_, models_, kFewIterations);
        return by_sample(few, kStepsOfSample, cutoff);
    }
    /// Returns true if the last full() or brief() ran all iterations of loops.
    [[nodiscard]] bool is_complete() const { return complete_; }
    /// Returns true if the last full() or brief() guessed when ranks outside the sample send.
    [[nodiscard]] bool guesses() const { return guesses_; }

    /// Returns the times from the programs of all ranks, or nothing if these take much longer to
    /// read than `steps` steps.
    [[nodiscard]] std::optional<CallTimes> by_all(std::size_t steps) {
        SampledRanks all(programs_, size_, buffer_, models_, kFewIterations);
        SharedWork work(machine_, size_, buffer_, *programs_.of(0), /*whole=*/true);
        const auto count = [&](const Program& program) {
            if (machine_.oversubscribed()) work.add(program, {.rank = program.rank});
        };
        if (!all.sample_all(steps, count)) return {};
        return times(all, work, kForever);
    }
    /// Estimates the number of steps that by_all() reads, from the programs of a few ranks. Returns
    /// steps_max + 1 if the program of the last rank shows that there are more than `steps_max`.
    [[nodiscard]] std::size_t steps_of_all(std::size_t steps_max) {
        // Time to generate a program, as the number of steps that can be read in this time.
        constexpr std::int64_t kStepsOfProgram = 4;
        constexpr std::size_t kAnalyzed = 2;  // ranks of each stratum whose programs are generated
        const auto& last = programs_.of(size_ - 1);
        if (steps_to_read(*last) * static_cast<std::size_t>(size_) > steps_max)
            return steps_max + 1;
        std::int64_t sum = 0;
        for (const CountedRank& each : counted_ranks(machine_, size_, {}, /*steps=*/1, kAnalyzed)) {
            const auto& program = programs_.of(each.rank);
            if (!program) return steps_max + 1;
            const std::uint32_t iterations = std::min(iterations_of(*program), kFewIterations);
            const auto steps = static_cast<std::int64_t>(program->unit_counts.size() +
                                                         steps_to_read(*program) * iterations);
            sum += (kStepsOfProgram + steps) * each.stratum_ranks / each.analyzed_ranks;
        }
        return static_cast<std::size_t>(sum) * runs();
    }

    /// Returns the number of steps that full() and brief() have read since the last call.
    [[nodiscard]] std::size_t take_steps() { return std::exchange(steps_, 0); }

    /// Returns the factor of rough(). It is larger for scans over nodes: the first rank of a node
    /// awaits other nodes in all rounds, and seems to be late in each of them.
    [[nodiscard]] Time rough_factor() {
        const auto& first = programs_.of(0);
        const bool scans = first.ok() && !first->synchronizing && first->root == kNoRank;
        return models_.far && scans ? 3 : 2;
    }

  private:
    static constexpr Time kForever = std::numeric_limits<Time>::max();
    /// Teams up to this size have no rough prediction.
    static constexpr Rank kFewRanks = 16;
    /// Largest number of ranks of each stratum whose work is counted, in rough and other
    /// predictions.
    static constexpr std::size_t kCountedRoughly = 2;
    static constexpr std::size_t kCounted = 24;
    /// Iterations of a loop that run in rough and brief predictions, and in predictions from all
    /// ranks; in other predictions of small and of large teams. The last third of them gives the
    /// time of each further iteration.
    static constexpr std::uint32_t kFewIterations = 6;
    static constexpr std::uint32_t kIterations = 48;
    static constexpr std::uint32_t kIterationsOfLarge = 24;

    /// Returns the least time that a rank needs for the messages of its program.
    [[nodiscard]] Time least_time(const Program& program) const {
        const Time issue = std::min(machine_.near.issue, machine_.far.issue);
        const Time receive = std::min(machine_.near.receive, machine_.far.receive);
        Time time = 0;
        for (const Step& step : program.steps)
            if (step.kind == StepKind::put || step.kind == StepKind::wait)
                time += step.kind == StepKind::put ? issue : receive;
        return time;
    }

    [[nodiscard]] base::Result<PredictedCost> by_sample(SampledRanks& sampled, std::size_t steps,
                                                        Time cutoff) {
        PredictedCost predicted;
        for (const Rank rank : {0, size_ - 1})
            if (const auto& program = programs_.of(rank); !program) return program.failure();
        sampled.sample_senders(steps);
        for (const Rank rank : sampled.ranks()) note_access(*programs_.of(rank), predicted);
        const auto counted = size_ <= kWholeTeam ? static_cast<std::size_t>(size_) : kCounted;
        static_cast<CallTimes&>(predicted) = WEFT_TRY(times(sampled, counted, cutoff));
        predicted.messages = sampled.messages();
        guesses_ = sampled.guesses();
        complete_ = sampled.is_complete();
        steps_ += sampled.steps() * runs();
        return predicted;
    }
    /// Records whether the program's rank exposes a buffer to a local peer or a remote rank.
    void note_access(const Program& program, PredictedCost& predicted) const {
        for (const Step& step : program.steps)
            if (step.kind == StepKind::expose)
                (machine_.is_far(program.rank, step.peer) ? predicted.delivers_directly
                                                          : predicted.in_place) = true;
    }

    /// Returns the times from the sample and from `per_stratum` ranks of each stratum.
    [[nodiscard]] base::Result<CallTimes> times(SampledRanks& sampled, std::size_t per_stratum,
                                                Time cutoff) {
        std::vector<CountedRank> counted;
        if (machine_.oversubscribed() || size_ == 2)
            counted = counted_ranks(machine_, size_, sampled.ranks(),
                                    steps_to_read(*programs_.of(size_ - 1)), per_stratum);
        const bool whole = static_cast<Rank>(counted.size()) == size_;
        SharedWork work(machine_, size_, buffer_, *programs_.of(0), whole);
        for (const CountedRank& each : counted) {
            const auto& program = programs_.of(each.rank);
            if (!program) return program.failure();
            work.add(*program, each);
        }
        return times(sampled, work, cutoff);
    }
    [[nodiscard]] CallTimes times(SampledRanks& sampled, const SharedWork& work, Time cutoff) {
        const Program& first = *programs_.of(0);
        if (!machine_.oversubscribed()) {
            if (work.is_one_way_pair()) cutoff = kForever;
            return work.unshared_times(sampled.time({}, cutoff).first, first);
        }
        constexpr Counted kWaits{.waits = true, .work = false};
        constexpr Counted kWork{.waits = false, .work = true};
        const auto [waits, second] = sampled.time(kWaits, kForever, work.overlaps());
        if (!work.overlaps() && waits > cutoff) return {.alone = waits, .in_stream = waits};
        const Time added_wait = work.overlaps() ? second - waits : 0;
        const std::uint32_t banks = candidate_.banks ? candidate_.banks() : 0;
        return work.times(waits, added_wait, sampled.time(kWork).first, banks);
    }
    /// Returns the runs of a sample. If ranks share processors, waits and work run separately.
    [[nodiscard]] std::size_t runs() const { return machine_.oversubscribed() ? 2 : 1; }

    const Machine& machine_;
    Rank size_;
    const Candidate& candidate_;
    BufferSize buffer_;
    PutModels models_;
    Programs programs_;
    SampledRanks sampled_;
    std::size_t steps_ = 0;
    bool complete_ = false;
    bool guesses_ = false;
};

}  // namespace weft::plan
