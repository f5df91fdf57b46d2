// SPDX-License-Identifier: BSD-3-Clause
// sample.hpp - the programs of some ranks of a team, as actions with their times.
//
// Next     sampled_ranks.hpp, which fills a sample; sample_run.hpp, which runs it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plan/select/costed_steps.hpp"

namespace weft::plan {

struct Sample {
    struct Action {
        CostedStep step;
        Time work = 0;            ///< of the steps since the last action, and its own
        Time usual_latency = 0;   ///< of a wait whose arrival is not known
        std::int32_t wire = -1;   ///< number of a wait; of a send, the number of its wait or -1
        std::uint32_t waits = 0;  ///< of the first wait of a reception: number of its messages
        bool known = false;       ///< a wait: the sample gives the arrival
        bool in_time = false;     ///< a wait: the message arrives before the rank waits for it

        [[nodiscard]] bool is_send() const { return step.kind == CostedStep::Kind::send; }
        [[nodiscard]] bool is_wait() const { return step.kind == CostedStep::Kind::wait; }
    };
    struct LaneOf {
        std::uint32_t rank = 0;  ///< index in `ranks`
        std::size_t first = 0;   ///< index of its first action
        std::size_t end = 0;
        bool shares = false;  ///< the rank has other lanes, which use the same processor
    };
    /// A wait for a published cell.
    struct Reader {
        std::uint64_t name = 0;  ///< of the cell
        std::int32_t wait = 0;
    };

    Rank size = 1;  ///< of the team
    const PutModels& models;
    std::vector<Rank> ranks = {};
    std::unordered_map<Rank, std::uint32_t> index_of = {};  ///< in `ranks`
    std::vector<LaneOf> lanes = {};
    std::vector<Action> actions = {};
    std::vector<std::uint32_t> lane_of_wait = {};
    std::vector<Reader> readers = {};       ///< by name
    std::vector<std::int64_t> shares = {};  ///< by index: ranks of the node that it represents

    [[nodiscard]] bool is_member(Rank rank) const { return rank >= 0 && rank < size; }
    [[nodiscard]] bool is_remote(Rank a, Rank b) const {
        return models.far && node_of(a) != node_of(b);
    }
    [[nodiscard]] bool has_cards() const { return models.far && models.far->card.held(1) > 0; }
    [[nodiscard]] std::size_t node_of(Rank rank) const {
        return static_cast<std::size_t>((*models.far->node_of)[static_cast<std::size_t>(rank)]);
    }
    /// Returns a name for a message by its receiver, or for a published cell by its owner.
    [[nodiscard]] static std::uint64_t name_of(Rank rank, std::uint64_t key) {
        return static_cast<std::uint64_t>(rank) << 40 | key;
    }
};

}  // namespace weft::plan
