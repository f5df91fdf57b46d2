// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/sampled_ranks.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "plan/select/sample_run.hpp"

namespace weft::plan {

namespace {

constexpr std::size_t kStepsOfWhole = 24'000;  ///< limit of steps of a complete sample
constexpr std::size_t kRanksMin = 3;   ///< smallest number of ranks of a sample with senders
constexpr std::size_t kRanksMax = 64;  ///< largest number of ranks for a large team
constexpr std::size_t kHopsMax = 48;   ///< largest number of hops that follow() takes
constexpr Rank kNodeMax = 32;          ///< largest size of a node that is sampled completely
/// A sample of ends has at most kEnds ranks, and gets no further rank after kStepsOfEnds steps.
constexpr std::size_t kEnds = 4;
constexpr std::size_t kStepsOfEnds = 2'000;
constexpr int kSpreadRanks = 16;  ///< number of sampled ranks that are spread over a team

/// Returns the i-th rank of a sequence that the golden ratio spreads over the team.
Rank spread_rank(std::int64_t i, Rank size) {
    return static_cast<Rank>(i * 618 * size / 1000 % size);
}

}  // namespace

SampledRanks::SampledRanks(Programs& programs, Rank size, const BufferSize& buffer,
                           const PutModels& models, std::uint32_t iterations)
    : programs_(programs),
      buffer_(buffer),
      sample_{.size = size,
              .models = models,
              .index_of = std::vector(static_cast<std::size_t>(size), Sample::kOutside)},
      run_max_(iterations) {}

bool SampledRanks::is_full() const {
    const bool whole = sample_.size <= kWholeTeam;
    if (!whole && sample_.ranks.size() >= kRanksMax) return true;
    return sample_.ranks.size() >= ranks_min_ && steps_ >= (whole ? kStepsOfWhole : steps_max_);
}

/// Adds a rank to the sample, unless the sample has it. Returns false if the sample is full.
bool SampledRanks::add(Rank rank) {
    if (sample_.is_sampled(rank)) return true;
    return !is_full() && add(rank, programs_.of(rank));
}

bool SampledRanks::add(Rank rank, const base::Result<Program>& program) {
    if (!program) return false;
    sample_.index_of[static_cast<std::size_t>(rank)] =
        static_cast<std::uint32_t>(sample_.ranks.size());
    sample_.ranks.push_back(rank);
    longest_loop_ = std::max(longest_loop_, iterations_of(*program));
    const CostedSteps steps(*program, buffer_, sample_.models, run_max_);
    const std::size_t before = sample_.actions.size();
    if (sample_.actions.empty()) sample_.actions.reserve(kEnds * program->steps.size());
    if (program->lanes.empty()) add_lane(steps, nullptr, steps.expose_time());
    for (std::size_t lane = 0; lane < program->lanes.size(); ++lane) {
        add_lane(steps, &program->lanes[lane], lane == 0 ? steps.expose_time() : 0);
        sample_.lanes.back().has_siblings = program->lanes.size() > 1;
    }
    steps_ += sample_.actions.size() - before + steps_to_read(*program) - program->steps.size();
    return true;
}

void SampledRanks::add_lane(const CostedSteps& steps, const Lane* lane, Time before) {
    Sample::RankLane& added = sample_.lanes.emplace_back();
    added.rank = static_cast<std::uint32_t>(sample_.ranks.size() - 1);
    added.first = sample_.actions.size();
    Time work = before;
    std::size_t reception = 0;  // index of the first wait of the current reception
    bool receiving = false;
    bool late = false;  // in the last third of the iterations that run (time())
    const std::uint32_t late_from = run_max_ / 3 * 2;
    const auto end_work = [&] {
        if (work == 0) return;
        Sample::Action& action = sample_.actions.emplace_back();
        action.busy = std::exchange(work, 0);
        action.segment = late ? late_from : 0;
    };
    const auto visit = [&](const CostedStep& step) {
        const bool waits = step.kind == CostedStep::Kind::wait;
        if (late != (step.segment >= late_from)) {
            end_work();
            late = !late;
            receiving = false;
        }
        if (!waits) receiving = false;
        if (step.kind == CostedStep::Kind::work) {
            work += step.busy;
        } else if (waits) {
            end_work();
            if (!receiving) reception = sample_.actions.size();
            receiving = true;
            sample_.actions.push_back({step});
            ++sample_.actions[reception].reception_size;
        } else {
            end_work();  // other lanes may use the processor before the message
            ++messages_;
            sample_.actions.push_back({step});
        }
    };
    if (lane != nullptr) steps.for_each(*lane, visit);
    end_work();
    added.end = sample_.actions.size();
}

/// Returns the last sender that a sampled rank awaits, or kNoRank. Prefers senders that were not
/// followed, then remote senders. Of the senders of one reception, prefers the farthest one, which
/// has the largest subtree in most trees. Ignores credits.
Rank SampledRanks::last_sender(Rank rank) const {
    const std::uint32_t index = sample_.index_of[static_cast<std::size_t>(rank)];
    const Sample::Action* found = nullptr;
    int best = -1;
    const Sample::Action* next = nullptr;  // action after the reception; identifies the reception
    const Sample::Action* next_of_found = nullptr;
    const auto distance = [&](const Sample::Action& wait) { return std::abs(wait.peer - rank); };
    for (std::size_t lane = sample_.lanes.size(); lane-- > 0;) {
        if (sample_.lanes[lane].rank != index) continue;
        for (std::size_t i = sample_.lanes[lane].end; i-- > sample_.lanes[lane].first;) {
            const Sample::Action& action = sample_.actions[i];
            if (!action.is_wait()) next = &action;
            if (!action.is_wait() || action.lagged || action.peer == rank) continue;
            const int rating = (followed_.contains(action.peer) ? 0 : 2) +
                               (sample_.is_remote(rank, action.peer) ? 1 : 0);
            const bool farther = found != nullptr && rating == best && next == next_of_found &&
                                 distance(action) > distance(*found);
            if (rating <= best && !farther) continue;
            best = rating;
            found = &action;
            next_of_found = next;
        }
    }
    return found != nullptr ? found->peer : kNoRank;
}

/// Adds a rank, the last sender that it awaits, the last sender which that sender awaits, and so
/// on. Ends after `hops` hops, after kEqualHops hops with equal strides, or at a followed rank. A
/// single hop does not mark ranks as followed.
void SampledRanks::follow(Rank rank, std::size_t hops) {
    constexpr int kEqualHops = 5;
    Rank receiver = kNoRank;
    Rank stride = 0;
    int equal = 0;
    for (std::size_t hop = 0; hop <= hops && rank != kNoRank && add(rank); ++hop) {
        if (hops > 1 && !followed_.insert(rank).second) return;
        if (receiver != kNoRank) {
            equal = receiver - rank == stride ? equal + 1 : 0;
            stride = receiver - rank;
            if (equal == kEqualHops) return;
        }
        receiver = rank;
        rank = last_sender(rank);
    }
}

/// Returns the chains through a sampled rank of a large team; none in a small team. In a chain, the
/// rank forwards a message under an equal key.
std::vector<SampledRanks::Chain> SampledRanks::chains_through(Rank rank) const {
    constexpr std::size_t kActionsMax = 2000;  // chains have short programs
    std::vector<Chain> found;
    if (sample_.size <= kWholeTeam) return found;
    const std::uint32_t index = sample_.index_of[static_cast<std::size_t>(rank)];
    for (const Sample::RankLane& lane : sample_.lanes) {
        if (lane.rank != index || lane.end - lane.first > kActionsMax) continue;
        std::map<std::uint64_t, Chain> awaited;  // by key; `work` is the work before the wait
        Time work = 0;
        for (std::size_t i = lane.first; i < lane.end; ++i) {
            const Sample::Action& action = sample_.actions[i];
            if (!action.is_wait()) work += action.busy;
            if (action.is_wait() && !action.lagged)
                awaited.emplace(action.key, Chain{rank - action.peer, work});
            if (!action.is_send()) continue;
            const auto wait = awaited.find(action.key);
            if (wait == awaited.end() || wait->second.stride != action.peer - rank) continue;
            if (std::ranges::find(found, wait->second.stride, &Chain::stride) == found.end())
                found.push_back(
                    {wait->second.stride, work - wait->second.work + sample_.models.model.receive});
        }
    }
    return found;
}

/// Returns the time until the rank before `rank` in a chain sends. The chain begins at a rank that
/// does not wait for the rank before it. Only kChecked ranks, and the first rank of each node, are
/// checked for this.
Time SampledRanks::time_of_hops(Rank rank, const Chain& chain) {
    constexpr Rank kChecked = 16;  // more than the longest sequence of equal strides in a tree
    // The last rank of each node sends to another node, like the last rank of the first node.
    Time far_work = chain.work;
    if (sample_.models.far && sample_.is_sampled(first_node_size() - 1))
        for (const Chain& each : chains_through(first_node_size() - 1))
            if (each.stride == chain.stride) far_work = each.work;
    Time time = 0;
    Rank hop = 0;
    for (Rank at = rank - chain.stride; sample_.is_member(at - chain.stride); at -= chain.stride) {
        const bool remote = sample_.is_remote(at, at - chain.stride);
        if (remote || hop++ < kChecked) {
            const auto& program = programs_.of(at);
            const auto awaits = [&](const Step& step) {
                return step.kind == StepKind::wait && step.peer == at - chain.stride;
            };
            if (!program || std::ranges::none_of(program->steps, awaits)) break;
        }
        time += (sample_.is_remote(at, at + chain.stride) ? far_work : chain.work) +
                (remote ? sample_.models.far->model : sample_.models.model).latency;
    }
    return time;
}

/// Returns ranks that may end last: ranks at a border of nodes, the first ranks and the last one,
/// the largest rank with only ones in binary, and ranks in between.
std::vector<Rank> SampledRanks::ends() const {
    const bool has_nodes = sample_.models.far.has_value();
    std::vector<Rank> found{has_nodes ? first_node_size() - 1 : sample_.size - 1};
    const auto append = [&](std::int64_t rank) {
        const auto end = static_cast<Rank>(rank);
        if (end < sample_.size && std::ranges::find(found, end) == found.end())
            found.push_back(end);
    };
    append(0);
    append(sample_.size - 1);
    if (has_nodes) append(first_node_size());
    append(sample_.size / 2);
    append(static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(sample_.size))) - 1);
    append(1);
    append(std::int64_t{sample_.size} * 2 / 3);
    return found;
}

/// Returns the number of consecutive ranks, from rank 0 on, that are on the node of rank 0.
Rank SampledRanks::first_node_size() const {
    Rank border = 1;
    while (border < sample_.size && sample_.node_of(border) == sample_.node_of(0)) ++border;
    return border;
}

/// Returns the first of the consecutive ranks on the node of the last rank.
Rank SampledRanks::first_of_last_node() const {
    Rank first = sample_.size - 1;
    while (first > 0 && !sample_.is_remote(first, first - 1)) --first;
    return first;
}

void SampledRanks::sample_ends() {
    for (const Rank end : ends())
        if (sample_.ranks.size() < kEnds && (sample_.ranks.empty() || steps_ < kStepsOfEnds))
            (void)add(end);
    connect();
}

void SampledRanks::sample_senders(std::size_t steps) {
    steps_max_ = steps;
    ranks_min_ = kRanksMin;
    if (sample_.has_nics() && first_node_size() <= kNodeMax)  // the ranks of a node share its NIC
        for (Rank rank = 0; rank < first_node_size(); ++rank) (void)add(rank);
    // The last senders of the three most important ends come first, in case programs are long.
    const std::vector<Rank> from = ends();
    for (std::size_t i = 0; i < 3 && i < from.size(); ++i) follow(from[i], 1);
    if (sample_.models.far) follow(first_of_last_node(), kHopsMax);  // messages between nodes
    follow(sample_.size - 1, kHopsMax);
    for (const Rank end : from) follow(end, kHopsMax);
    for (int i = 1; i <= kSpreadRanks; ++i) follow(spread_rank(i, sample_.size), kHopsMax);
    // Adds the senders of all sampled ranks, including the ranks that this loop adds.
    for (std::size_t i = 0; i < sample_.actions.size() && !is_full(); ++i)
        if (sample_.actions[i].is_wait() && !sample_.actions[i].lagged)
            (void)add(sample_.actions[i].peer);
    for (Rank rank = 0; sample_.size <= kWholeTeam && rank < sample_.size && !is_full(); ++rank)
        (void)add(rank);
    connect();
    if (sample_.has_nics()) count_ranks_of_nodes();
}

bool SampledRanks::sample_all(std::size_t steps, const std::function<void(const Program&)>& visit) {
    sample_.actions.reserve(steps);
    for (Rank rank = 0; rank < sample_.size; ++rank) {
        if (steps_ > steps) return false;
        const auto program = programs_.once(rank);
        if (!add(rank, program)) return false;
        visit(*program);
    }
    connect();
    return true;
}

/// Connects the sends of the sample with its waits.
void SampledRanks::connect() {
    guesses_ = sample_.has_nics() && sample_.size > kWholeTeam;
    if (sample_.has_nics()) sample_.represented.assign(sample_.ranks.size(), 1);
    // Simultaneous messages enter a NIC in the order of lanes, so lanes are sorted by rank.
    std::ranges::stable_sort(
        sample_.lanes, {}, [&](const Sample::RankLane& lane) { return sample_.ranks[lane.rank]; });
    sample_.lane_of_wait.clear();
    sample_.readers.clear();
    std::vector<std::size_t> action_of_wait;  // by wait: index of its action
    for (std::uint32_t lane = 0; lane < sample_.lanes.size(); ++lane)
        for (std::size_t i = sample_.lanes[lane].first; i < sample_.lanes[lane].end; ++i) {
            Sample::Action& action = sample_.actions[i];
            if (!action.is_wait()) continue;
            action.wait_number = static_cast<std::int32_t>(sample_.lane_of_wait.size());
            sample_.lane_of_wait.push_back(lane);
            action_of_wait.push_back(i);
            action.known = sample_.is_sampled(action.peer);
            if (action.published)
                sample_.readers.push_back(
                    {.name = Sample::name_of(action.peer, action.key), .wait = action.wait_number});
        }
    const auto name_of = [&](std::int32_t number) {
        const auto wait = static_cast<std::size_t>(number);
        const std::uint32_t rank = sample_.lanes[sample_.lane_of_wait[wait]].rank;
        return Sample::name_of(sample_.ranks[rank], sample_.actions[action_of_wait[wait]].key);
    };
    // A hash table of waits by name, with open addressing, at most half full.
    std::vector<std::int32_t> table(2 * std::bit_ceil(action_of_wait.size() + 1), -1);
    const auto slot_of = [&](std::uint64_t name) {
        std::size_t slot = name * 0x9e3779b97f4a7c15U >> (64 - std::bit_width(table.size() - 1));
        while (table[slot] >= 0 && name_of(table[slot]) != name)
            slot = (slot + 1) & (table.size() - 1);
        return slot;
    };
    for (std::size_t wait = 0; wait < action_of_wait.size(); ++wait)
        if (!sample_.actions[action_of_wait[wait]].published)
            table[slot_of(name_of(static_cast<std::int32_t>(wait)))] =
                static_cast<std::int32_t>(wait);
    for (Sample::Action& action : sample_.actions) {
        if (!action.is_send() || !sample_.is_sampled(action.peer)) continue;
        action.wait_number = table[slot_of(Sample::name_of(action.peer, action.key))];
        if (action.wait_number < 0) continue;
        sample_.actions[action_of_wait[static_cast<std::size_t>(action.wait_number)]].taken =
            action.taken;
    }
    std::ranges::sort(sample_.readers, {}, &Sample::Reader::name);
    for (const Sample::RankLane& lane : sample_.lanes) find_usual_arrivals(lane);
}

/// Sets when messages from outside the sample arrive at a lane. The n-th message from a sender is
/// assumed to be sent with the lane's own n-th message to the rank as far ahead as the sender is
/// behind. If no such message precedes the wait, it is assumed to be sent with the lane's n-th
/// message to the sender. In a chain, the time of the hops is added.
void SampledRanks::find_usual_arrivals(const Sample::RankLane& lane) {
    const auto is_unknown = [](const Sample::Action& action) {
        return action.is_wait() && !action.known && !action.lagged;
    };
    const auto actions = std::span(sample_.actions).subspan(lane.first, lane.end - lane.first);
    if (std::ranges::none_of(actions, is_unknown)) return;
    const Rank rank = sample_.ranks[lane.rank];
    std::map<Rank, std::vector<std::size_t>> sends;  // by peer
    std::map<Rank, std::size_t> received;
    std::unordered_set<Rank> receivers;  // ranks to which the rank sends, besides credits
    for (const Sample::RankLane& other : sample_.lanes)
        for (std::size_t i = other.first; other.rank == lane.rank && i < other.end; ++i)
            if (sample_.actions[i].is_send() && !sample_.actions[i].lagged)
                receivers.insert(sample_.actions[i].peer);
    std::optional<std::vector<Chain>> chains;
    // A send that exposes a buffer corresponds only to a message with the same key.
    const auto find_similar = [&](Rank peer, std::size_t nth, std::uint64_t key) {
        const auto found = sends.find(peer);
        if (found == sends.end() || nth >= found->second.size()) return -1;
        const Sample::Action& send = sample_.actions[found->second[nth]];
        return send.exposes && send.key != key ? -1 : static_cast<int>(found->second[nth]);
    };
    for (std::size_t i = lane.first; i < lane.end; ++i) {
        Sample::Action& action = sample_.actions[i];
        if (action.is_send()) sends[action.peer].push_back(i);
        if (!is_unknown(action)) continue;
        action.usual_latency = usual_latency(action, rank);
        const Rank peer = action.peer;
        const std::size_t nth = received[peer]++;
        action.one_way = !receivers.contains(peer);
        action.similar_send =
            find_similar((2 * rank - peer + sample_.size) % sample_.size, nth, action.key);
        if (action.similar_send >= 0) {
            action.taken = sample_.actions[static_cast<std::size_t>(action.similar_send)].taken;
            continue;
        }
        guesses_ = true;
        action.similar_send = find_similar(peer, nth, action.key);
        if (action.similar_send >= 0) continue;
        if (!chains) chains = chains_through(rank);
        const auto chain = std::ranges::find(*chains, rank - peer, &Chain::stride);
        if (chain == chains->end()) continue;
        // Later segments arrive before the rank has forwarded the first one.
        action.in_time = action.segment > 0;
        if (!action.in_time) action.usual_latency += time_of_hops(rank, *chain);
    }
}

/// Sets the number of ranks that each sampled rank represents, for nodes whose ranks share a NIC.
/// Rank 0 and the first and last ranks of nodes represent only themselves. A sample prefers senders
/// of remote messages. So ranks outside the sample are assumed to use a NIC for the mean time of
/// the spread ranks.
void SampledRanks::count_ranks_of_nodes() {
    const auto is_usual = [&](Rank rank) {
        return rank > 0 && rank + 1 < sample_.size && !sample_.is_remote(rank, rank - 1) &&
               !sample_.is_remote(rank, rank + 1);
    };
    std::vector<std::int64_t> usual(sample_.models.far->node_of->size());
    std::vector<std::int64_t> sampled(usual.size());
    for (Rank rank = 0; rank < sample_.size; ++rank) {
        if (!is_usual(rank)) continue;
        ++usual[sample_.node_of(rank)];
        if (sample_.is_sampled(rank)) ++sampled[sample_.node_of(rank)];
    }
    std::vector<Time> held(sample_.ranks.size());  // time that each rank uses NICs
    for (const Sample::RankLane& lane : sample_.lanes)
        for (std::size_t i = lane.first; i < lane.end; ++i)
            held[lane.rank] += sample_.actions[i].hold;
    Time spread = 0;
    Time count = 0;
    for (int i = 1; i <= kSpreadRanks; ++i) {
        const Rank rank = spread_rank(i, sample_.size);
        if (!sample_.is_sampled(rank) || !is_usual(rank)) continue;
        spread += held[sample_.index_of[static_cast<std::size_t>(rank)]];
        ++count;
    }
    for (std::size_t i = 0; i < sample_.ranks.size(); ++i) {
        if (!is_usual(sample_.ranks[i])) continue;
        const std::size_t node = sample_.node_of(sample_.ranks[i]);
        const std::int64_t others = usual[node] - sampled[node];
        const bool is_busy = count > 0 && held[i] > spread / count;
        sample_.represented[i] +=
            (is_busy ? others * (spread / count) / held[i] : others) / sampled[node];
    }
}

/// Returns the latency of a message from a rank outside the sample. If the message is remote, but
/// other ranks have local peers at this distance, returns a mean: the share of remote messages
/// among DistanceCounts::waits is the share of remote_ranks in the team, rounded up.
Time SampledRanks::usual_latency(const Sample::Action& wait, Rank rank) {
    if (!sample_.models.far || sample_.node_of(rank) == sample_.node_of(wait.peer))
        return wait.latency;
    const Rank distance = (rank - wait.peer + sample_.size) % sample_.size;
    // All peers at this distance are remote, if the ranks of each node are consecutive.
    if (std::min(distance, sample_.size - distance) >= sample_.models.far->largest_node)
        return wait.latency;
    const auto [counts, is_new] = at_distance_.try_emplace(distance);
    if (is_new) {
        for (Rank other = 0; other < sample_.size; ++other)
            counts->second.remote_ranks +=
                sample_.node_of(other) != sample_.node_of((other + distance) % sample_.size) ? 1
                                                                                             : 0;
        for (const Sample::RankLane& lane : sample_.lanes)
            for (std::size_t i = lane.first; sample_.ranks[lane.rank] == rank && i < lane.end; ++i)
                counts->second.waits +=
                    sample_.actions[i].is_wait() && sample_.actions[i].peer == wait.peer ? 1 : 0;
    }
    const auto [remote_ranks, waits] = counts->second;
    const Time near = sample_.models.model.latency;
    return near + (wait.latency - near) *
                      ((remote_ranks * waits + sample_.size - 1) / sample_.size) / waits;
}

SampledRanks::CallEnds SampledRanks::time(Counted counted, Time cutoff, bool two_calls) {
    const auto run = [&](std::uint32_t iterations) {
        SampleRun call(sample_, counted, iterations);
        CallEnds ends{.first = call.run_until(cutoff)};
        if (two_calls)
            ends.second = SampleRun(sample_, counted, iterations, &call).run_until(cutoff);
        return ends;
    };
    const CallEnds longer_run = run(run_max_);
    if (longest_loop_ <= run_max_ || longer_run.first > cutoff) return longer_run;
    const CallEnds shorter_run = run(run_max_ / 3 * 2);
    const auto extended = [&](Time longer, Time shorter) {
        const Time iteration = (longer - shorter) / (run_max_ / 3);
        return longer + std::max<Time>(0, iteration) * (longest_loop_ - run_max_);
    };
    return {extended(longer_run.first, shorter_run.first),
            extended(longer_run.second, shorter_run.second)};
}

}  // namespace weft::plan
