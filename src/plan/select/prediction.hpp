// SPDX-License-Identifier: BSD-3-Clause
// prediction.hpp - predictions of a call with one candidate, from rough and cheap to precise.
//
// Idea     Most candidates are much slower than the best one. The programs of very few ranks
//          suffice to show this.
// Next     predict.cpp; select.cpp, which uses the predictions.
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

    /// Returns a time from the programs of very few ranks, assumed to be at most rough_factor()
    /// times the full prediction. Returns 0 for small teams. If a rank alone needs more than
    /// `cutoff`, returns a lower bound above `cutoff`. Fails if the algorithm does not support the
    /// size.
    [[nodiscard]] base::Result<Time> rough(Time cutoff);
    /// Returns the prediction from a sample of about `steps` steps. Times above `cutoff` are only
    /// lower bounds.
    [[nodiscard]] base::Result<PredictedCost> full(std::size_t steps, Time cutoff);
    /// Like full(), but runs few iterations of loops.
    [[nodiscard]] base::Result<PredictedCost> brief(Time cutoff);
    /// Returns true if the last full() or brief() ran all iterations of loops.
    [[nodiscard]] bool is_complete() const { return complete_; }
    /// Returns true if the last full() or brief() guessed when ranks outside the sample send.
    [[nodiscard]] bool guesses() const { return guesses_; }

    /// Returns the times from the programs of all ranks, or nothing if these take much longer to
    /// read than `steps` steps.
    [[nodiscard]] std::optional<CallTimes> by_all(std::size_t steps);
    /// Estimates the number of steps that by_all() reads, from the programs of a few ranks. Returns
    /// steps_max + 1 if the program of the last rank shows that there are more than `steps_max`.
    [[nodiscard]] std::size_t steps_of_all(std::size_t steps_max);

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
    [[nodiscard]] Time least_time(const Program& program) const;
    [[nodiscard]] base::Result<PredictedCost> by_sample(SampledRanks& sampled, std::size_t steps,
                                                        Time cutoff);
    /// Returns the times from the sample and from `per_stratum` ranks of each stratum.
    [[nodiscard]] base::Result<CallTimes> times(SampledRanks& sampled, std::size_t per_stratum,
                                                Time cutoff);
    [[nodiscard]] CallTimes times(SampledRanks& sampled, const SharedWork& work, Time cutoff);
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
