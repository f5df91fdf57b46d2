// SPDX-License-Identifier: BSD-3-Clause
// sampled_ranks.hpp - time of a call, from the programs of a few ranks.
//
// Idea     The sample has ranks that may end last, the ranks whose messages they await, and so on,
//          up to a number of steps. A small team is sampled completely. The programs of the sample
//          run with the costs of the machine. A rank outside the sample is assumed to send when the
//          receiver does. This holds in an exchange, where all ranks are equally late. Of a tree,
//          the ranks from the root to the sampled ends are in the sample. In a chain, where each
//          rank forwards messages over equal distances, a hop outside the sample takes the time of
//          a sampled hop. A loop runs only a few iterations; the time is linear in their number.
// Why      A choice needs few programs, and the library needs no engine of the simulator.
// Holds    Equal on all ranks: the arithmetic is on whole numbers.
// Next     predict.cpp.
#pragma once

#include <functional>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "plan/select/predict.hpp"
#include "plan/select/programs.hpp"
#include "plan/select/sample_run.hpp"

namespace weft::plan {

/// Teams up to this size are sampled completely, if the limit of steps permits it.
inline constexpr Rank kWholeTeam = 130;
/// Number of steps of a sample.
inline constexpr std::size_t kStepsOfSample = 12'000;

class SampledRanks {
  public:
    /// The arguments must outlive this object.
    SampledRanks(Programs& programs, Rank size, const BufferSize& buffer, const PutModels& models);
    /// Runs at most `iterations` iterations of each loop.
    SampledRanks(Programs& programs, Rank size, const BufferSize& buffer, const PutModels& models,
                 std::uint32_t iterations);

    /// Samples ranks that may end last.
    void sample_ends();
    /// Also samples the ranks for which sampled ranks wait, and others. The sample of a large team
    /// has about `steps` steps.
    void sample_more(std::size_t steps);
    /// Samples all ranks, and calls visit() with their programs. Returns false if the programs have
    /// more than about `steps` steps.
    [[nodiscard]] bool sample_all(std::size_t steps,
                                  const std::function<void(const Program&)>& visit);
    /// Times at which the last rank of the sample ends the first and the second call.
    struct CallEnds {
        Time first = 0;
        Time second = 0;
    };
    /// Returns the ends. Times above `enough` are only lower bounds. `again`: runs a second call.
    [[nodiscard]] CallEnds time(Counted counted, Time enough = std::numeric_limits<Time>::max(),
                                bool again = false);
    [[nodiscard]] const std::vector<Rank>& ranks() const { return sample_.ranks; }
    [[nodiscard]] std::size_t steps() const { return steps_; }
    /// Returns true if all iterations of loops run.
    [[nodiscard]] bool is_complete() const { return iterations_ <= run_max_; }
    /// Returns true if the arrivals of messages from ranks outside the sample are guesses.
    [[nodiscard]] bool guesses() const { return guesses_; }
    /// Returns the number of messages that the sampled ranks send.
    [[nodiscard]] std::uint64_t messages() const { return messages_; }

  private:
    /// A chain: a rank forwards messages from the rank `stride` before it to the rank `stride`
    /// after it.
    struct Passing {
        Rank stride = 0;
        Time work = 0;  ///< time of the rank from the arrival to the end of the send
    };

    bool add(Rank rank);
    bool add(Rank rank, const base::Result<Program>& program);
    void add_lane(const CostedSteps& steps, const Lane* lane, Time before);
    void follow(Rank rank, std::size_t hops);
    [[nodiscard]] std::vector<Passing> passings(Rank rank) const;
    [[nodiscard]] Time time_of_hops(Rank rank, const Passing& passing);
    void wait_in_chain(Sample::Action& wait, Rank rank, const Passing& passing);
    [[nodiscard]] bool is_full() const;
    [[nodiscard]] std::vector<Rank> ends() const;
    [[nodiscard]] Rank first_node() const;
    [[nodiscard]] Rank first_of_last_node() const;
    [[nodiscard]] Rank last_sender(Rank rank) const;
    void connect();
    void find_usual_arrivals(const Sample::RankLane& lane);
    void count_ranks_of_nodes();
    [[nodiscard]] Time usual_latency(const Sample::Action& wait, Rank rank);

    Programs& programs_;
    BufferSize buffer_;
    Sample sample_;
    std::unordered_set<Rank> followed_;  ///< ranks whose last senders are in the sample
    std::uint32_t run_max_;              ///< largest number of iterations of a loop that run
    std::uint32_t iterations_ = 1;       ///< largest number of iterations of the programs' loops
    std::size_t steps_ = 0;              ///< number of steps of the sample
    std::size_t steps_max_ = kStepsOfSample;
    std::size_t ranks_min_ = 2;
    std::uint64_t messages_ = 0;
    bool guesses_ = false;
    /// For one distance of ranks: number of ranks whose peer at this distance is remote, and number
    /// of waits of a rank for a peer at this distance.
    struct FarAt {
        std::int64_t remote = 0;
        std::int64_t count = 0;
    };
    std::unordered_map<Rank, FarAt> far_at_;  ///< by distance
};

}  // namespace weft::plan
