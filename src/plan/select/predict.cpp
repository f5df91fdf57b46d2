// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/predict.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "plan/select/prediction.hpp"

namespace weft::plan {

namespace {

constexpr Time kForever = std::numeric_limits<Time>::max();
/// Teams up to this size have no rough prediction.
constexpr Rank kFewRanks = 16;
/// Largest number of ranks of each stratum whose work is counted, in rough and other predictions.
constexpr std::size_t kCountedRoughly = 2;
constexpr std::size_t kCounted = 24;
/// Iterations of a loop that run in rough and brief predictions, and in predictions from all ranks.
constexpr std::uint32_t kFewIterations = 6;

/// Records whether the program's rank exposes a buffer to a local peer or a remote rank.
void note_access(const Program& program, const Machine& machine, PredictedCost& predicted) {
    const auto node_of = [&](Rank rank) {
        return machine.node_of.empty() ? 0 : machine.node_of[static_cast<std::size_t>(rank)];
    };
    for (const Step& step : program.steps) {
        if (step.kind != StepKind::expose) continue;
        const bool far = node_of(step.peer) != node_of(program.rank);
        (far ? predicted.delivers_directly : predicted.in_place) = true;
    }
}

}  // namespace

Prediction::Prediction(const Machine& machine, Rank size, const Candidate& candidate,
                       const BufferSize& buffer)
    : machine_(machine),
      size_(size),
      candidate_(candidate),
      buffer_(buffer),
      models_(put_models(machine, /*waits=*/true, /*computes=*/true)),
      programs_(candidate.program),
      sampled_(programs_, size, buffer, models_) {}

/// Returns the least time that a rank needs for the messages of its program.
Time Prediction::least_time(const Program& program) const {
    const Time issue = std::min(machine_.near.issue, machine_.far.issue);
    const Time receive = std::min(machine_.near.receive, machine_.far.receive);
    Time time = 0;
    for (const Step& step : program.steps)
        if (step.kind == StepKind::put || step.kind == StepKind::wait)
            time += step.kind == StepKind::put ? issue : receive;
    return time;
}

base::Result<Time> Prediction::rough(Time cutoff) {
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

base::Result<CallTimes> Prediction::times(SampledRanks& sampled, std::size_t per_stratum,
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

CallTimes Prediction::times(SampledRanks& sampled, const SharedWork& work, Time cutoff) {
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

base::Result<PredictedCost> Prediction::full(std::size_t steps, Time cutoff) {
    return by_sample(sampled_, steps, cutoff);
}

base::Result<PredictedCost> Prediction::brief(Time cutoff) {
    SampledRanks few(programs_, size_, buffer_, models_, kFewIterations);
    return by_sample(few, kStepsOfSample, cutoff);
}

base::Result<PredictedCost> Prediction::by_sample(SampledRanks& sampled, std::size_t steps,
                                                  Time cutoff) {
    PredictedCost predicted;
    for (const Rank rank : {0, size_ - 1})
        if (const auto& program = programs_.of(rank); !program) return program.failure();
    sampled.sample_senders(steps);
    for (const Rank rank : sampled.ranks()) note_access(*programs_.of(rank), machine_, predicted);
    const auto counted = size_ <= kWholeTeam ? static_cast<std::size_t>(size_) : kCounted;
    const CallTimes found = WEFT_TRY(times(sampled, counted, cutoff));
    predicted.time = found.alone;
    predicted.in_stream = found.in_stream;
    predicted.messages = sampled.messages();
    guesses_ = sampled.guesses();
    complete_ = sampled.is_complete();
    steps_ += sampled.steps() * runs();
    return predicted;
}

std::size_t Prediction::steps_of_all(std::size_t steps_max) {
    // Time to generate a program, as the number of steps that can be read in this time.
    constexpr std::int64_t kStepsOfProgram = 4;
    constexpr std::size_t kAnalyzed = 2;  // ranks of each stratum whose programs are generated
    const auto& last = programs_.of(size_ - 1);
    if (steps_to_read(*last) * static_cast<std::size_t>(size_) > steps_max) return steps_max + 1;
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

std::optional<CallTimes> Prediction::by_all(std::size_t steps) {
    SampledRanks all(programs_, size_, buffer_, models_, kFewIterations);
    SharedWork work(machine_, size_, buffer_, *programs_.of(0), /*whole=*/true);
    const auto count = [&](const Program& program) {
        if (machine_.oversubscribed()) work.add(program, {.rank = program.rank});
    };
    if (!all.sample_all(steps, count)) return {};
    return times(all, work, kForever);
}

base::Result<PredictedCost> predict(const Machine& machine, Rank size, const Candidate& candidate,
                                    const BufferSize& buffer) {
    return Prediction(machine, size, candidate, buffer).full(kStepsOfSample, kForever);
}

}  // namespace weft::plan
