// SPDX-License-Identifier: BSD-3-Clause
// sampled_ranks.hpp - time of a call, from the programs of a few ranks.
//
// Idea     The sample has ranks that may end last, the ranks whose messages they await, and so on,
//          up to a number of steps. A small team is sampled completely. The programs of the sample
//          run with the costs of the machine. A rank outside the sample is assumed to send when the
//          receiver sends. This holds in an exchange, where all ranks are equally late. In a tree,
//          the ranks from the root to the sampled ends are in the sample. In a chain, where each
//          rank forwards messages over equal distances, a hop outside the sample takes the time of
//          a sampled hop. A loop runs only a few iterations; the time is linear in their number.
// Why      A choice needs few programs, and the library needs no engine of the simulator.
// Holds    Equal on all ranks: the arithmetic is on whole numbers.
// Next     prediction.hpp.
#pragma once

#include <functional>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "plan/select/programs.hpp"
#include "plan/select/sample_run.hpp"

namespace weft::plan {

/// Teams up to this size are sampled completely, if the limit of steps permits it.
inline constexpr Rank kWholeTeam = 130;
/// Usual number of steps of a sample.
inline constexpr std::size_t kStepsOfSample = 12'000;

class SampledRanks {
  public:
    /// Runs at most `iterations` iterations of each loop. `programs` and `models` must outlive this
    /// object.
    SampledRanks(Programs& programs, Rank size, const BufferSize& buffer, const PutModels& models,
                 std::uint32_t iterations);

    // A sample is filled by one of the next three functions.
    /// Samples very few ranks that may end last.
    void sample_ends();
    /// Samples ranks that may end last, the ranks for which sampled ranks wait, and ranks spread
    /// over the team. The sample of a large team has about `steps` steps.
    void sample_senders(std::size_t steps);
    /// Samples all ranks, and calls visit() with their programs. Returns false if a program cannot
    /// be generated, or the programs have more than about `steps` steps.
    [[nodiscard]] bool sample_all(std::size_t steps,
                                  const std::function<void(const Program&)>& visit);
    /// Times at which the last rank of the sample ends the first and the second call.
    struct CallEnds {
        Time first = 0;
        Time second = 0;
    };
    /// Runs one call or two. Times above `cutoff` are only lower bounds.
    [[nodiscard]] CallEnds time(Counted counted, Time cutoff = std::numeric_limits<Time>::max(),
                                bool two_calls = false);
    [[nodiscard]] const std::vector<Rank>& ranks() const { return sample_.ranks; }
    [[nodiscard]] std::size_t steps() const { return steps_; }
    /// Returns true if all iterations of loops run.
    [[nodiscard]] bool is_complete() const { return longest_loop_ <= run_max_; }
    /// Returns true if it guesses arrivals of messages from outside the sample, or the use of NICs.
    [[nodiscard]] bool guesses() const { return guesses_; }
    /// Returns the number of messages that the sampled ranks send.
    [[nodiscard]] std::uint64_t messages() const { return messages_; }

  private:
    /// Ranks that forward messages from the rank `stride` before them to the rank `stride` after.
    struct Chain {
        Rank stride = 0;
        Time work = 0;  ///< time of a rank from the arrival of a message to the end of its send
    };

    bool add(Rank rank);
    bool add(Rank rank, const base::Result<Program>& program);
    void add_lane(const CostedSteps& steps, const Lane* lane, Time before);
    void follow(Rank rank, std::size_t hops);
    [[nodiscard]] std::vector<Chain> chains_through(Rank rank) const;
    [[nodiscard]] Time time_of_hops(Rank rank, const Chain& chain);
    [[nodiscard]] bool is_full() const;
    [[nodiscard]] std::vector<Rank> ends() const;
    [[nodiscard]] Rank first_node_size() const;
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
    std::uint32_t longest_loop_ = 1;     ///< largest number of iterations of the programs' loops
    std::size_t steps_ = 0;              ///< number of steps of the sample
    std::size_t steps_max_ = kStepsOfSample;  ///< a sample of a large team with more steps is full
    std::size_t ranks_min_ = 2;               ///< a sample of fewer ranks is not full
    std::uint64_t messages_ = 0;
    bool guesses_ = false;
    /// Messages over one distance of ranks.
    struct DistanceCounts {
        std::int64_t remote_ranks = 0;  ///< number of ranks whose peer at this distance is remote
        std::int64_t waits = 0;         ///< number of waits of one rank for a peer at this distance
    };
    std::unordered_map<Rank, DistanceCounts> at_distance_;
};

}  // namespace weft::plan
