// SPDX-License-Identifier: BSD-3-Clause
// sample.hpp - the programs of some ranks of a team, as actions with their times.
//
// Next     sampled_ranks.hpp, which fills a sample; sample_run.hpp, which runs it.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/select/costed_steps.hpp"

namespace weft::plan {

struct Sample {
    /// Executed steps. Successive waits of a lane are one *reception*: their messages are received
    /// in the order of arrival.
    struct Action {
        CostedStep::Kind kind = CostedStep::Kind::work;
        bool published = false;  ///< as in CostedStep
        bool exposes = false;
        bool lagged = false;
        bool known = false;    ///< a wait whose sender is in the sample
        bool one_way = false;  ///< a wait for a rank to which this rank sends only credits
        bool in_time = false;  ///< a wait whose message arrives before the rank waits for it
        std::uint32_t reception_size = 0;  ///< waits of a reception; set in its first wait
        std::uint32_t segment = 0;
        Rank peer = kNoRank;
        std::int32_t wait_number = -1;  ///< number of a wait, or of the wait for a send; -1: none
        /// For a wait that is not `known`: index of this rank's send that corresponds to the
        /// awaited send in the sender's program, or -1.
        std::int32_t similar_send = -1;
        std::uint64_t key = 0;
        Time work = 0;           ///< time that the rank is busy; 0 for waits
        Time latency = 0;        ///< latency of the message
        Time usual_latency = 0;  ///< of a wait that is not `known`: time from the assumed send
        Time hold = 0;           ///< as in CostedStep
        Time taken = 0;          ///< time of the receiver for the bytes

        Action() = default;
        explicit Action(const CostedStep& step)
            : kind(step.kind),
              published(step.published),
              exposes(step.exposes),
              lagged(step.lagged),
              segment(step.segment),
              peer(step.peer),
              key(step.key),
              work(step.kind == CostedStep::Kind::wait ? 0 : step.busy),
              latency(step.latency),
              hold(step.hold),
              taken(step.taken) {}
        [[nodiscard]] bool is_send() const { return kind == CostedStep::Kind::send; }
        [[nodiscard]] bool is_wait() const { return kind == CostedStep::Kind::wait; }
    };
    struct RankLane {
        std::uint32_t rank = 0;     ///< index in `ranks`
        std::size_t first = 0;      ///< index of the lane's first action
        std::size_t end = 0;        ///< index after its last action
        bool has_siblings = false;  ///< the rank has other lanes, which use the same processor
    };
    /// A wait for a published cell.
    struct Reader {
        std::uint64_t name = 0;  ///< name_of() the cell
        std::int32_t wait = 0;   ///< number of the wait
    };

    Rank size = 1;  ///< number of ranks of the team
    const PutModels& models;
    std::vector<Rank> ranks = {};
    std::vector<std::uint32_t> index_of = {};  ///< by rank: index in `ranks`, or kOutside
    std::vector<RankLane> lanes = {};
    std::vector<Action> actions = {};
    std::vector<std::uint32_t> lane_of_wait = {};
    std::vector<Reader> readers = {};            ///< sorted by name
    std::vector<std::int64_t> represented = {};  ///< by index: number of ranks that it represents

    static constexpr std::uint32_t kOutside = ~0U;
    [[nodiscard]] bool is_sampled(Rank rank) const {
        return is_member(rank) && index_of[static_cast<std::size_t>(rank)] != kOutside;
    }
    [[nodiscard]] bool is_member(Rank rank) const { return rank >= 0 && rank < size; }
    [[nodiscard]] bool is_remote(Rank a, Rank b) const {
        return models.far && node_of(a) != node_of(b);
    }
    [[nodiscard]] bool has_nics() const { return models.far && models.far->card.held(1) > 0; }
    [[nodiscard]] std::size_t node_of(Rank rank) const {
        return static_cast<std::size_t>((*models.far->node_of)[static_cast<std::size_t>(rank)]);
    }
    /// Returns a name for a message by its receiver, or for a published cell by its owner.
    [[nodiscard]] static std::uint64_t name_of(Rank rank, std::uint64_t key) {
        return static_cast<std::uint64_t>(rank) << 40 | key;
    }
};

}  // namespace weft::plan
