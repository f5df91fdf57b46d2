// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/predict.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "plan/select/prediction.hpp"

namespace weft::plan {

namespace {

constexpr Time kForever = std::numeric_limits<Time>::max();
/// Smaller teams have no rough prediction: with a processor for each rank, and without.
constexpr Rank kFewRanks = 16;
constexpr Rank kFewSharing = 130;
/// Ranks of each stratum whose work is counted.
constexpr std::size_t kCountedRoughly = 6;
constexpr std::size_t kCounted = 24;
/// Iterations of a loop that the programs of all ranks run.
constexpr std::uint32_t kIterationsOfAll = 6;

/// Notes whether the program's rank exposes a buffer to a local peer or a remote rank.
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
      models_(put_models(machine, true, true)),
      programs_(candidate.program),
      sampled_(programs_, size, buffer, models_) {}

base::Result<Time> Prediction::rough() {
    for (const Rank rank : {0, size_ - 1})
        if (const auto& program = programs_.of(rank); !program) return program.failure();
    if (size_ <= (machine_.crowded() ? kFewSharing : kFewRanks)) return 0;
    sampled_.sample_ends();
    const auto found = times(sampled_, kCountedRoughly, kForever);
    if (!found) return found.failure();
    return found->in_stream;
}

base::Result<CallTimes> Prediction::times(SampledRanks& sampled, std::size_t counted_of_stratum,
                                          Time most) {
    const Program& first = *programs_.of(0);
    const Program& last = *programs_.of(size_ - 1);
    const bool crowded = machine_.crowded();
    std::vector<CountedRank> counted;
    if (crowded || size_ == 2)
        counted = counted_ranks(machine_, size_, sampled.ranks(), steps_to_read(last),
                                counted_of_stratum);
    const bool whole = static_cast<Rank>(counted.size()) == size_;
    SharedWork work(machine_, size_, buffer_, first, whole);
    for (const CountedRank& each : counted) {
        const auto& program = programs_.of(each.rank);
        if (!program) return program.failure();
        work.add(*program, each);
    }
    if (!crowded) {
        const Time enough = work.is_one_way_pair() ? kForever : most;
        return work.roomy_times(sampled.time({}, enough), first);
    }
    constexpr Counted kWaits{.waits = true, .work = false};
    constexpr Counted kWork{.waits = false, .work = true};
    const Time waits = sampled.time(kWaits);
    if (!work.overlaps() && waits > most) return CallTimes{.alone = waits, .in_stream = waits};
    const Time again = work.overlaps() ? sampled.time(kWaits, kForever, 2) - waits : 0;
    const std::uint32_t banks = candidate_.banks ? candidate_.banks() : 0;
    return work.times(waits, again, sampled.time(kWork), banks);
}

base::Result<PredictedCost> Prediction::full(std::size_t steps, Time most) {
    PredictedCost predicted;
    for (const Rank rank : {0, size_ - 1})
        if (const auto& program = programs_.of(rank); !program) return program.failure();
    sampled_.sample_more(steps);
    for (const Rank rank : sampled_.ranks()) note_access(*programs_.of(rank), machine_, predicted);
    const auto found = times(sampled_, kCounted, most);
    if (!found) return found.failure();
    predicted.time = found->alone;
    predicted.in_stream = found->in_stream;
    predicted.messages = sampled_.messages();
    return predicted;
}

std::size_t Prediction::steps_of_all(std::size_t most) {
    constexpr std::int64_t kRead = 9;
    constexpr std::size_t kStepsOfProgram = 4;  // a program without steps takes as long to generate
    // Where ranks share processors, programs are read twice.
    const std::size_t times = static_cast<std::size_t>(size_) * (machine_.crowded() ? 2 : 1);
    std::vector<std::size_t> steps;
    for (std::int64_t i = 0; i < kRead; ++i) {
        const auto& program = programs_.of(static_cast<Rank>(size_ - 1 - i * size_ / kRead));
        if (!program) return std::numeric_limits<std::size_t>::max();
        const std::uint32_t iterations = std::min(iterations_of(*program), kIterationsOfAll);
        steps.push_back(kStepsOfProgram + program->unit_counts.size() +
                        steps_to_read(*program) * iterations);
        if (i == 0 && steps.front() * times > most) return steps.front() * times;
    }
    std::ranges::nth_element(steps, steps.begin() + kRead / 2);
    return steps[kRead / 2] * times;
}

std::optional<CallTimes> Prediction::by_all(std::size_t steps) {
    SampledRanks all(programs_, size_, buffer_, models_, kIterationsOfAll);
    if (!all.sample_all(steps, machine_.crowded())) return {};
    const auto found = times(all, static_cast<std::size_t>(size_), kForever);
    if (!found) return {};
    return *found;
}

base::Result<PredictedCost> predict(const Machine& machine, Rank size, const Candidate& candidate,
                                    const BufferSize& buffer) {
    return Prediction(machine, size, candidate, buffer).full(kStepsOfSample, kForever);
}

}  // namespace weft::plan
