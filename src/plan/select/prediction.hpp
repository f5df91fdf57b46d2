// SPDX-License-Identifier: BSD-3-Clause
// prediction.hpp - predicts the time of a call with one candidate, roughly first.
//
// Idea     Most candidates are much slower than the best one. The programs of very few ranks show
//          that.
// Next     predict.cpp; select.cpp for the use.
#pragma once

#include <optional>

#include "plan/select/predict.hpp"
#include "plan/select/sampled_ranks.hpp"
#include "plan/select/shared_work.hpp"

namespace weft::plan {

class Prediction {
  public:
    /// The arguments must outlive this object.
    Prediction(const Machine& machine, Rank size, const Candidate& candidate,
               const BufferSize& buffer);

    /// Returns a time by very few ranks, which is less than kSurelyLonger times too long, and 0
    /// for a team that is too small for that. If a rank needs more than `most`, the time may be too
    /// small, but not below `most`. Fails if the algorithm does not support the size.
    [[nodiscard]] base::Result<Time> rough(Time most);
    /// Returns the prediction by a sample of about `steps` steps. Times above `most` may be too
    /// small, but are not below `most`.
    [[nodiscard]] base::Result<PredictedCost> full(std::size_t steps, Time most);
    /// As full(), but runs few iterations of loops.
    [[nodiscard]] base::Result<PredictedCost> brief(Time most);
    /// Returns true if the last full() or brief() ran all iterations of loops.
    [[nodiscard]] bool is_complete() const { return complete_; }
    /// Returns true if the last full() or brief() guessed when ranks outside the sample send.
    [[nodiscard]] bool guesses() const { return guesses_; }

    /// Returns the times by the programs of all ranks, or nothing if they take much longer to read
    /// than `steps` steps.
    [[nodiscard]] std::optional<CallTimes> by_all(std::size_t steps);
    /// Returns the steps that by_all() takes about as long to read, from a few ranks, or from the
    /// last one if that gives more than `most`.
    [[nodiscard]] std::size_t steps_of_all(std::size_t most);

    /// Returns the steps read by full() and brief() since the last call.
    [[nodiscard]] std::size_t take_steps() { return std::exchange(steps_, 0); }

    static constexpr Time kSurelyLonger = 2;

  private:
    [[nodiscard]] Time least_time(const Program& program) const;
    [[nodiscard]] base::Result<PredictedCost> by_sample(SampledRanks& sampled, std::size_t steps,
                                                        Time most);
    /// Returns the times by the sample and `counted_of_stratum` ranks of each stratum.
    [[nodiscard]] base::Result<CallTimes> times(SampledRanks& sampled,
                                                std::size_t counted_of_stratum, Time most);
    [[nodiscard]] CallTimes times(SampledRanks& sampled, const SharedWork& work, Time most);

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
