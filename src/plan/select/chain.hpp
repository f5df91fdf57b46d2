// SPDX-License-Identifier: BSD-3-Clause
// chain.hpp - ranks at equal distances, each of which passes its messages on to the next one.
//
// Idea     A sample has a chain's ranks at the start, at the end and at a border of nodes. A rank
//          that waits for one outside the sample gets a message some hops after the last sampled
//          rank before it has sent it. A hop takes the time of sampled ones, local or remote.
// Next     sampled_ranks.cpp.
#pragma once

#include <map>
#include <vector>

#include "plan/select/sample.hpp"

namespace weft::plan {

class Chain {
  public:
    /// `stride`: receiver less sender.
    explicit Chain(Rank stride) : stride_(stride) {}

    [[nodiscard]] Rank stride() const { return stride_; }
    /// Connects waits for ranks outside the sample with sends of ranks of the chain.
    void connect(Sample& sample);

  private:
    /// Time from the arrival of a message to the arrival of the next one, or a sum of such times.
    struct Hop {
        Time latency = 0;
        Time work = 0;
        Time count = 0;  ///< of hops

        void add(const Hop& other, Time times = 1);
        [[nodiscard]] Hop mean() const;
    };
    /// A sampled rank that sends a message of the chain.
    struct Station {
        Rank rank = 0;
        std::size_t send = 0;  ///< index of its action
    };
    struct Stations {
        std::vector<Station> ranks = {};
        Rank first = kNoRank;  ///< sends without waiting
        bool passed = false;   ///< some rank passes the message on
    };

    void find_stations(const Sample& sample);
    [[nodiscard]] Hop time_of_hop(const Sample& sample, std::size_t wait, std::size_t send) const;
    void estimate_hops(const Sample& sample);
    [[nodiscard]] const Station* station_before(const Sample& sample, const CostedStep& wait,
                                                Rank rank) const;
    [[nodiscard]] Hop hops_between(const Sample& sample, Rank from, Rank to) const;

    Rank stride_;
    bool crosses_ = false;  ///< goes on from node to node
    Hop local_;             ///< sum, then mean
    Hop remote_;
    std::map<std::uint64_t, Stations> stations_;  ///< by key of the message
};

}  // namespace weft::plan
