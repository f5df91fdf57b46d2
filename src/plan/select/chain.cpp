// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/chain.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weft::plan {

namespace {

/// Returns the number of ranks before a rank on its node, if those are consecutive.
Rank place_on_node(const Sample& sample, Rank rank) {
    Rank first = rank;
    while (first > 0 && !sample.is_remote(first, first - 1)) --first;
    return rank - first;
}

}  // namespace

void Chain::Hop::add(const Hop& other, Time times) {
    latency += other.latency * times;
    work += other.work * times;
    count += other.count * times;
}

Chain::Hop Chain::Hop::mean() const {
    return count > 0 ? Hop{latency / count, work / count, 1} : Hop{};
}

/// Finds the sampled ranks of the chain and the sums of their hops.
void Chain::find_stations(const Sample& sample) {
    for (const Sample::LaneOf& lane : sample.lanes) {
        const Rank rank = sample.ranks[lane.rank];
        std::unordered_map<std::uint64_t, std::size_t> waits;  // by key
        std::unordered_map<std::uint64_t, std::size_t> sends;
        for (std::size_t i = lane.first; i < lane.end; ++i) {
            const Sample::Action& action = sample.actions[i];
            if (action.is_wait() && action.step.peer == rank - stride_)
                waits.emplace(action.step.key, i);
            if (action.is_send() && action.step.peer == rank + stride_)
                sends.emplace(action.step.key, i);
        }
        for (const auto& [key, send] : sends) {
            const auto wait = waits.find(key);
            const bool is_first = wait == waits.end();
            if (!is_first && wait->second > send) continue;
            Stations& stations = stations_[key];
            stations.ranks.push_back({.rank = rank, .send = send});
            if (is_first) {
                stations.first = rank;
                continue;
            }
            stations.passed = true;
            crosses_ |= sample.is_remote(rank, rank - stride_);
            Hop& hops = sample.is_remote(rank, rank + stride_) ? remote_ : local_;
            hops.add(time_of_hop(sample, wait->second, send));
        }
    }
}

Chain::Hop Chain::time_of_hop(const Sample& sample, std::size_t wait, std::size_t send) const {
    const CostedStep& sent = sample.actions[send].step;
    Hop hop{.latency = sent.latency + 2 * sent.hold,
            .work = sample.models.model.receive + sample.actions[wait].step.taken,
            .count = 1};
    for (std::size_t i = wait + 1; i <= send; ++i)
        if (!sample.actions[i].is_wait()) hop.work += sample.actions[i].work;
    return hop;
}

/// Sets the mean times of hops. If no hop of a kind is sampled, its time is that of the other kind
/// plus the difference of an empty message.
void Chain::estimate_hops(const Sample& sample) {
    Hop more;
    if (const auto& far = sample.models.far) {
        more.latency = far->model.latency - sample.models.model.latency;
        more.work = far->model.busy(0) - sample.models.model.busy(0);
    }
    const auto estimate = [&](const Hop& hops, const Hop& others, Time sign) {
        if (hops.count > 0) return hops.mean();
        Hop hop = others.mean();
        hop.latency = std::max<Time>(0, hop.latency + sign * more.latency);
        hop.work = std::max<Time>(0, hop.work + sign * more.work);
        return hop;
    };
    const Hop remote = estimate(remote_, local_, 1);
    local_ = estimate(local_, remote_, -1);
    remote_ = remote;
}

void Chain::connect(Sample& sample) {
    *this = Chain(stride_);
    crosses_ = !sample.models.far;  // without nodes there is one chain
    find_stations(sample);
    estimate_hops(sample);
    std::map<std::pair<Rank, Rank>, Hop> known;
    for (const Sample::LaneOf& lane : sample.lanes) {
        const Rank rank = sample.ranks[lane.rank];
        for (std::size_t i = lane.first; i < lane.end; ++i) {
            Sample::Action& action = sample.actions[i];
            if (!action.is_wait() || action.known || action.step.lagged) continue;
            if (action.step.published || action.step.peer != rank - stride_) continue;
            const Station* const station = station_before(sample, action.step, rank);
            if (station == nullptr) continue;
            const auto [hops, is_new] = known.try_emplace({station->rank, rank});
            if (is_new) hops->second = hops_between(sample, station->rank, rank);
            Sample::Action& send = sample.actions[station->send];
            send.relayed = action.known = true;
            sample.readers.push_back({.name = Sample::name_of(send.step.peer, send.step.key),
                                      .wait = action.wire,
                                      .latency = hops->second.latency,
                                      .work = hops->second.work});
        }
    }
}

/// Returns the last sampled rank before the sender that a rank awaits, or null. If each node has a
/// chain of its own, the rank may be on another node, at the same place or before.
const Chain::Station* Chain::station_before(const Sample& sample, const CostedStep& wait,
                                            Rank rank) const {
    const auto found = stations_.find(wait.key);
    if (found == stations_.end() || !found->second.passed) return nullptr;
    const Stations& stations = found->second;
    const Station* nearest = nullptr;
    Rank least = 0;
    for (const Station& station : stations.ranks) {
        if ((rank - station.rank > 0) != (stride_ > 0)) continue;
        const Rank apart =
            crosses_ ? wait.peer - station.rank
                     : place_on_node(sample, wait.peer) - place_on_node(sample, station.rank);
        if (apart % stride_ != 0 || apart / stride_ < 0) continue;
        if (nearest != nullptr && apart / stride_ >= least) continue;
        nearest = &station;
        least = apart / stride_;
    }
    if (nearest == nullptr || !crosses_) return nearest;
    const bool begun = stations.first != kNoRank && (nearest->rank - stations.first) / stride_ >= 0;
    return begun ? nearest : nullptr;
}

/// Returns the time of the hops from the rank after `from` to `to`.
Chain::Hop Chain::hops_between(const Sample& sample, Rank from, Rank to) const {
    Hop sum;
    if (!crosses_) {
        const Rank places = place_on_node(sample, to - stride_) - place_on_node(sample, from);
        sum.add(local_, places / stride_);
        return sum;
    }
    if (!sample.models.far) {
        sum.add(local_, (to - from) / stride_ - 1);
        return sum;
    }
    for (Rank rank = from + stride_; rank != to; rank += stride_)
        sum.add(sample.is_remote(rank, rank + stride_) ? remote_ : local_);
    return sum;
}

}  // namespace weft::plan
