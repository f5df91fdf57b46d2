// SPDX-License-Identifier: BSD-3-Clause
// sample_run.hpp - the programs of some ranks of a team, and runs of them in the order of time.
//
// Idea     A sample has the steps of the programs as actions with their times. In a run, a lane
//          executes its actions until it waits. Lanes of a rank share its processor, and messages
//          share the NICs of their nodes. Both take turns in the order of time.
// Next     sampled_ranks.hpp, which fills a sample.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "plan/select/executed_steps.hpp"

namespace weft::plan {

struct Sample {
    /// Executed steps. Successive waits of a lane are one *reception*: their messages are received
    /// in the order of arrival.
    struct Action : CostedStep {
        bool known = false;    ///< a wait whose sender is in the sample
        bool one_way = false;  ///< a wait for a rank to which this rank sends only credits
        bool in_time = false;  ///< a wait whose message arrives before the rank waits for it
        std::uint32_t reception_size = 0;  ///< waits of a reception; set in its first wait
        std::int32_t wait_number = -1;  ///< number of a wait, or of the wait for a send; -1: none
        /// For a wait that is not `known`: index of this rank's send that corresponds to the
        /// awaited send in the sender's program, or -1.
        std::int32_t similar_send = -1;
        Time usual_latency = 0;  ///< of a wait that is not `known`: time from the assumed send

        [[nodiscard]] bool is_send() const { return kind == Kind::send; }
        [[nodiscard]] bool is_wait() const { return kind == Kind::wait; }
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

/// Costs that a run includes.
struct Counted {
    bool waits = true;
    bool work = true;
};

/// One run of the programs of a sample.
class SampleRun {
  public:
    /// `before`: run of the preceding call, or null. Loops run `iterations` times at most.
    SampleRun(const Sample& sample, Counted counted, std::uint32_t iterations,
              const SampleRun* before = nullptr)
        : sample_(sample),
          counted_(counted),
          iterations_(iterations),
          has_nics_(sample.has_nics() && counted.work),
          before_(before) {
        states_.resize(sample.lanes.size());
        clocks_.resize(sample.ranks.size());
        arrived_.assign(sample.lane_of_wait.size(), kNotYet);
        ended_.resize(sample.actions.size());
        if (before != nullptr) clocks_ = before->clocks_;
        if (has_nics_) send_free_.resize(sample.models.far->node_of->size());
        receive_free_ = send_free_;
        for (std::uint32_t lane = 0; lane < states_.size(); ++lane) {
            states_[lane].at = sample.lanes[lane].first;
            states_[lane].ready = states_[lane].sent = clocks_[sample.lanes[lane].rank];
            events_.push({states_[lane].ready, lane});
        }
    }

    /// Runs until all lanes have ended, or a lane ends an action after `cutoff`. Returns the last
    /// end of an action.
    Time run_until(Time cutoff) {
        Time latest = 0;
        for (const Time clock : clocks_) latest = std::max(latest, clock);
        while (!events_.empty() && latest <= cutoff) {
            const Wakeup event = events_.top();
            events_.pop();
            now_ = event.time;
            if (event.subject >= states_.size())
                move_transit(event.subject - static_cast<std::uint32_t>(states_.size()));
            else
                latest = std::max(latest, run_lane(event.subject));
        }
        return latest;
    }

  private:
    static constexpr Time kNotYet = -1;
    static std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

    struct State {
        std::size_t at = 0;         ///< index of the next action
        Time ready = 0;             ///< end of the last action
        Time sent = 0;              ///< end of the last put, signal or publish; at first, start
        std::uint32_t missing = 0;  ///< number of messages of the reception that have not arrived
        Time due = 0;               ///< latest arrival of the other messages of the reception
    };
    /// A message through the NICs of two nodes.
    struct Transit {
        const Sample::Action* action = nullptr;
        Rank from = 0;
        bool was_sent = false;  ///< has passed the sender's NIC
    };
    struct Wakeup {
        Time time = 0;
        std::uint32_t subject = 0;  ///< index of a lane, or number of lanes + index of a transit
        friend bool operator>(const Wakeup& a, const Wakeup& b) {
            return a.time != b.time ? a.time > b.time : a.subject > b.subject;
        }
    };

    /// Executes actions of a lane until it waits. If lanes share a processor or ranks share NICs,
    /// executes one action or reception. Returns the rank's clock.
    Time run_lane(std::uint32_t lane) {
        const Sample::RankLane& rank_lane = sample_.lanes[lane];
        State& state = states_[lane];
        Time& clock = clocks_[rank_lane.rank];
        while (state.at < rank_lane.end) {
            const Sample::Action& action = sample_.actions[state.at];
            if (action.segment >= iterations_) {
                ++state.at;
                continue;
            }
            if (action.is_wait()) {
                if (!receive(lane, action.reception_size)) break;
            } else {
                clock = std::max(clock, state.ready) + (counted_.work ? action.busy : 0);
                state.ready = ended_[state.at] = clock;
                ++state.at;
                if (action.kind != CostedStep::Kind::work) {
                    if (!action.exposes) state.sent = clock;
                    send(action, sample_.ranks[rank_lane.rank], clock);
                }
            }
            if ((rank_lane.has_siblings || has_nics_) && state.at < rank_lane.end) {
                events_.push({state.ready, lane});
                break;
            }
        }
        return clock;
    }

    void send(const Sample::Action& action, Rank rank, Time now) {
        const Time latency = counted_.waits ? action.latency : 0;
        if (action.kind == CostedStep::Kind::publish)
            return arrive_at_readers(Sample::name_of(rank, action.key), now + latency);
        if (has_nics_ && action.hold > 0) {
            transits_.push_back({&action, rank});
            events_.push({now, static_cast<std::uint32_t>(states_.size() + transits_.size() - 1)});
        } else if (action.wait_number >= 0) {
            arrive(action.wait_number, now + latency);
        }
    }

    void arrive_at_readers(std::uint64_t name, Time time) {
        auto reader = std::ranges::lower_bound(sample_.readers, name, {}, &Sample::Reader::name);
        for (; reader != sample_.readers.end() && reader->name == name; ++reader)
            arrive(reader->wait, time);
    }

    /// Moves a message into its next NIC. The latency is added at the end.
    void move_transit(std::uint32_t transit) {
        const Sample::Action& action = *transits_[transit].action;
        const bool was_sent = std::exchange(transits_[transit].was_sent, true);
        const Rank at = was_sent ? action.peer : transits_[transit].from;
        const Time enters = enter_nic(was_sent ? receive_free_ : send_free_, at, now_, action.hold);
        if (!was_sent)
            events_.push({enters, static_cast<std::uint32_t>(states_.size()) + transit});
        else if (action.wait_number >= 0)
            arrive(action.wait_number, enters + (counted_.waits ? action.latency : 0));
    }
    /// Occupies a NIC for a message of each rank that `rank` represents. Returns the start.
    Time enter_nic(std::vector<Time>& free, Rank rank, Time now, Time hold) {
        const std::size_t node = sample_.node_of(rank);
        const Time enters = std::max(now, free[node]);
        const std::uint32_t i = sample_.index_of[index(rank)];
        free[node] = enters + hold * (i != Sample::kOutside ? sample_.represented[i] : 1);
        return enters;
    }

    void arrive(std::int32_t wait, Time time) {
        arrived_[index(wait)] = time;
        const std::uint32_t lane = sample_.lane_of_wait[index(wait)];
        State& state = states_[lane];
        if (state.missing == 0) return;
        const Sample::Action& first = sample_.actions[state.at];
        const std::int32_t i = wait - first.wait_number;
        if (i < 0 || i >= static_cast<std::int32_t>(first.reception_size)) return;
        state.due = std::max(state.due, time);
        if (--state.missing == 0) events_.push({std::max(state.due, state.ready), lane});
    }

    /// Receives `count` messages in the order of their arrival, or none if one is missing. Other
    /// lanes may use the processor until the last message arrives.
    bool receive(std::uint32_t lane, std::uint32_t count) {
        const Sample::RankLane& rank_lane = sample_.lanes[lane];
        const Rank rank = sample_.ranks[rank_lane.rank];
        State& state = states_[lane];
        arrivals_.clear();
        state.missing = 0;
        state.due = 0;
        for (std::size_t i = state.at; i < state.at + count; ++i) {
            const Sample::Action& wait = sample_.actions[i];
            Time& arrived = arrived_[index(wait.wait_number)];
            if (arrived == kNotYet && !wait.known) arrived = usual_arrival(rank, state, wait);
            if (arrived == kNotYet) ++state.missing;
            state.due = std::max(state.due, arrived);
            if (wait.peer == rank) continue;  // takes no time
            arrivals_.push_back({arrived, counted_.work ? wait.taken : 0});
        }
        if (state.missing > 0) return false;
        if (rank_lane.has_siblings && state.due > now_) {
            events_.push({state.due, lane});
            return false;
        }
        std::ranges::sort(arrivals_);
        Time& clock = clocks_[rank_lane.rank];
        clock = std::max(clock, state.ready);
        for (const Arrival& each : arrivals_)
            clock = std::max(clock + each.work, each.time) +
                    (counted_.work ? sample_.models.model.receive : 0);
        state.ready = clock = std::max(clock, state.due);
        state.at += count;
        return true;
    }

    /// Returns the arrival of a message from outside the sample.
    Time usual_arrival(Rank rank, const State& state, const Sample::Action& wait) {
        if (wait.lagged || wait.in_time) return 0;  // sampled ranks account for the cost of credits
        // A sender that awaits nothing from this rank may be ahead: its messages of the second call
        // are assumed to arrive with its messages of the first call.
        if (before_ != nullptr && wait.one_way) return before_->arrived_[index(wait.wait_number)];
        Time sent = wait.similar_send >= 0 ? ended_[index(wait.similar_send)] : state.sent;
        if (has_nics_ && wait.hold > 0) sent = enter_nic(receive_free_, rank, sent, wait.hold);
        return sent + (counted_.waits ? wait.usual_latency : 0);
    }

    const Sample& sample_;
    Counted counted_;
    std::uint32_t iterations_;
    bool has_nics_;  ///< the run includes the time of NICs
    const SampleRun* before_;
    Time now_ = 0;                    ///< time of the current event
    std::vector<State> states_;       ///< by lane
    std::vector<Time> clocks_;        ///< by index of the rank
    std::vector<Time> arrived_;       ///< by wait
    std::vector<Time> ended_;         ///< by action that is not a wait
    std::vector<Time> send_free_;     ///< by node: time at which its NIC is free to send
    std::vector<Time> receive_free_;  ///< by node: time at which its NIC is free to receive
    std::vector<Transit> transits_;
    std::vector<Arrival> arrivals_;
    std::priority_queue<Wakeup, std::vector<Wakeup>, std::greater<>> events_;
};

}  // namespace weft::plan
