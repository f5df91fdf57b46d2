// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cli/fit_measure.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/copy.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kPeersMax = 8;
constexpr std::size_t kBytesMax = 262144;
constexpr std::array<std::size_t, 6> kTurnBytes{8, 1024, 4096, 16384, 65536, kBytesMax};
constexpr std::array<std::size_t, 4> kBlockBytes{4096, 16384, 65536, kBytesMax};
constexpr std::size_t kData = 64;   ///< offset in the memory of all ranks, after the flags,
constexpr std::size_t kPlaces = 4;  ///< and number of the largest blocks

}  // namespace

double elapsed_us(std::uint64_t begin_ns) {
    return static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-3;
}

lab::Line Multicast::line(double lab::Summary::*statistic) const {
    std::vector<lab::Point> points;
    for (std::size_t i = 0; i < by_peers.size(); ++i)
        points.push_back({static_cast<double>(i + 1), by_peers[i].*statistic});
    return lab::fit_line(points);
}

FitMeasure::FitMeasure(Runtime& runtime, int repetitions)
    : world_(runtime.world()),
      repetitions_(repetitions),
      memory_(world_, kData + kPlaces * kBytesMax),
      flag_(static_cast<std::uint64_t*>(memory_.data())),
      wake_(flag_ + 1),
      source_(2 * kBytesMax),
      copy_(2 * kBytesMax),
      processors_(world_) {
    *flag_ = *wake_ = 0;
    world_.barrier();
    find_peers();
}

std::byte* FitMeasure::data() {
    return static_cast<std::byte*>(memory_.data()) + kData;
}

FitPass FitMeasure::pass() {
    FitPass found;
    for (const Way& way : {near_, far_})
        if (!way.peers.empty()) found.ways.push_back(measure_way(way));
    found.copies = copies();
    time_flag();
    found.memory = own_memory();
    found.adoption = adoption();
    time_flag();
    found.flags_us = std::exchange(flags_us_, {});
    return found;
}

void FitMeasure::pause(double seconds) {
    while_others_sleep(
        {}, [seconds] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); });
}

FitMeasure::Waits FitMeasure::waits_apart() const {
    return processors_.crowd().processors > 1 ? Waits::spinning : Waits::yielding;
}

void FitMeasure::time_flag() {
    if (near_.peers.empty() || waits_apart() != Waits::spinning) return;
    const Rank peer = near_.peers.front();
    while_others_sleep({peer},
                       [&] { flags_us_.push_back(half_turn_us(peer, 0, Waits::spinning)); });
}

Way FitMeasure::measure_way(Way way) {
    const bool near = way.name == std::string_view("near");
    const Rank first = way.peers.front();
    time_flag();
    while_others_sleep({first}, [&] {
        way.turns = measure_turns(first);
        way.flag_us = near ? half_turn_us(first, 0, waits_apart()) : 0;
    });
    // A local peer needs no processor to receive; a remote one must poll the network.
    if (way.peers.size() > 1)
        for (const bool blocking : {false, true})
            while_others_sleep(near ? std::vector<Rank>{} : way.peers,
                               [&] { multicast(way, blocking); });
    if (!near) while_others_sleep({first}, [&] { way.receive_us = measure_receptions(way); });
    time_flag();
    while_others_sleep(way.peers, [&] { way.blocks = measure_blocks(way.peers, near); });
    time_flag();
    with_pair(first, [&](Team pair) { way.calls = calls_of(pair, near); });
    way.shared_us = measure_shared(way);
    time_flag();
    return way;
}

/// Runs `work` on rank 0 and these peers. A waiting rank would take processors from the timed ones,
/// so the others poll for the end only from time to time.
void FitMeasure::while_others_sleep(const std::vector<Rank>& peers,
                                    const std::function<void()>& work, std::optional<int> shared) {
    constexpr std::chrono::milliseconds kNap{2};
    ++phase_;
    const auto works = [&](Rank rank) {
        return rank == 0 || std::ranges::find(peers, rank) != peers.end();
    };
    if (works(world_.rank())) {
        // Otherwise two ranks that yield to each other might share a processor and
        // leave another idle.
        std::optional<int> own = shared;
        const Rank other = world_.rank() == 0 && !peers.empty() ? peers.front() : 0;
        if (!own && peers.size() == 1) own = processors_.apart(world_.rank(), other);
        std::optional<OnProcessor> there;
        if (own) there.emplace(*own);
        work();
    } else {
        while (!world_.test_until(wake_, Compare::ge, phase_)) std::this_thread::sleep_for(kNap);
    }
    if (world_.rank() == 0)
        for (Rank rank = 1; rank < world_.size(); ++rank)
            if (!works(rank)) world_.put(wake_, &phase_, sizeof phase_, rank);
    agree_on_turns();
}

/// Makes the counts of turns equal, because ranks that took no part have not counted.
void FitMeasure::agree_on_turns() {
    turn_ = world_.allreduce<std::uint64_t>(turn_, Op::max);
    world_.barrier();
}

/// Finds local peers of rank 0 and ranks of other nodes, with a different node for
/// each if possible.
void FitMeasure::find_peers() {
    Team node = world_.split_by_node();
    Rank leader = world_.rank();
    node.broadcast(&leader, 1, Type::int32, 0);
    std::vector<Rank> leaders(static_cast<std::size_t>(world_.size()));
    world_.allgather(&leader, leaders.data(), 1, Type::int32);
    node.free();
    near_.name = "near";
    far_.name = "far";
    std::vector<Rank> further;
    for (Rank rank = 1; rank < world_.size(); ++rank) {
        const Rank of = leaders[static_cast<std::size_t>(rank)];
        if (of == leaders.front())
            near_.peers.push_back(rank);
        else
            (of == rank ? far_.peers : further).push_back(rank);
    }
    far_.peers.insert(far_.peers.end(), further.begin(), further.end());
    for (Way* way : {&near_, &far_}) way->peers.resize(std::min(way->peers.size(), kPeersMax));
}

/// Peers poll the network until rank 0 has all its times.
void FitMeasure::multicast(Way& way, bool blocking) {
    const char* const mode = blocking ? "blocking" : "non-blocking";
    Multicast issued{mode, "issued", {}};
    Multicast landed{mode, "landed", {}};
    ++turn_;
    if (world_.rank() != 0) {
        world_.wait_until(flag_, Compare::ge, turn_);
        return;
    }
    for (std::size_t peers = 1; peers <= way.peers.size(); ++peers) {
        std::vector<double> issue;
        std::vector<double> landing;
        for (int i = 0; i < repetitions_; ++i) {
            const std::uint64_t begin = base::monotonic_ns();
            for (std::size_t peer = 0; peer < peers; ++peer) put(way.peers[peer], blocking);
            issue.push_back(elapsed_us(begin));
            world_.quiet();
            landing.push_back(elapsed_us(begin));
        }
        issued.by_peers.push_back(lab::summarize(issue));
        landed.by_peers.push_back(lab::summarize(landing));
    }
    for (const Rank peer : way.peers) send(peer, sizeof(std::uint64_t));
    way.multicasts.push_back(std::move(issued));
    way.multicasts.push_back(std::move(landed));
}

void FitMeasure::put(Rank peer, bool blocking) {
    if (blocking)
        world_.put(data(), source_.data(), sizeof(std::uint64_t), peer);
    else
        world_.put_nbi(data(), source_.data(), sizeof(std::uint64_t), peer);
}

/// Returns the line of half round trips (medians) over the bytes of a put.
lab::Line FitMeasure::measure_turns(Rank peer) {
    std::vector<lab::Point> points;
    for (const std::size_t bytes : kTurnBytes) {
        std::vector<double> times;
        for (int i = 0; i < repetitions_; ++i) {
            const std::uint64_t begin = base::monotonic_ns();
            turn(peer, bytes);
            times.push_back(elapsed_us(begin) / 2);
        }
        points.push_back({static_cast<double>(bytes), lab::median(times)});
    }
    return lab::fit_line(points);
}

void FitMeasure::turn(Rank peer, std::size_t bytes, Waits waits) {
    ++turn_;
    const Rank me = world_.rank();
    if (me == 0) send(peer, bytes);
    const std::atomic_ref<std::uint64_t> flag(*flag_);
    while (waits != Waits::usual && flag.load(std::memory_order_acquire) < turn_)
        if (waits == Waits::yielding) ::sched_yield();
    world_.wait_until(flag_, Compare::ge, turn_);
    if (me == peer) send(0, bytes);
}

void FitMeasure::send(Rank peer, std::size_t bytes) {
    world_.put_signal(data(), source_.data(), bytes, flag_, turn_, SignalOp::set, peer);
}

/// Measures with a peer of the same host where ranks share processors. A local peer does not poll
/// the network, because a job on one node has none.
std::optional<double> FitMeasure::measure_shared(Way& way) {
    const bool near = way.name == std::string_view("near");
    if (!processors_.crowd().shares() || (!near && processors_.crowd().ranks != world_.size()))
        return {};
    const Rank peer = way.peers.front();
    const std::optional<int> shared = processors_.common(0, peer);
    if (!shared) {
        way.bound = true;
        return {};
    }
    double shared_us = 0;
    const Waits waits = near ? Waits::yielding : Waits::usual;
    while_others_sleep(
        {peer}, [&] { shared_us = half_turn_us(peer, sizeof(std::uint64_t), waits); }, shared);
    return shared_us;
}

double FitMeasure::half_turn_us(Rank peer, std::size_t bytes, Waits waits) {
    constexpr int kTurns = 10;
    std::vector<double> times;
    for (int i = 0; i < repetitions_; ++i) {
        const std::uint64_t begin = base::monotonic_ns();
        for (int turns = 0; turns < kTurns; ++turns) turn(peer, bytes, waits);
        times.push_back(elapsed_us(begin) / (2 * kTurns));
    }
    return lab::median(times);
}

/// Measures receptions: the peer sends while rank 0 sleeps.
double FitMeasure::measure_receptions(const Way& way) {
    const Rank peer = way.peers.front();
    // The messages arrive before it wakes, also over a slow network.
    const auto nap =
        std::max(std::chrono::microseconds(2000),
                 std::chrono::microseconds(static_cast<std::int64_t>(way.turns.intercept * 8)));
    constexpr std::array<std::uint64_t, 3> kMessages{8, 24, 40};
    std::vector<lab::Point> points;
    for (const std::uint64_t messages : kMessages) {
        std::vector<double> times;
        for (int i = 0; i < std::max(3, repetitions_ / 10); ++i) {
            ++turn_;
            if (world_.rank() == peer) {
                world_.wait_until(flag_, Compare::ge, turn_);
                for (std::uint64_t sent = 0; sent < messages; ++sent) {
                    ++turn_;
                    send(0, sizeof(std::uint64_t));
                }
                continue;
            }
            send(peer, sizeof(std::uint64_t));
            std::this_thread::sleep_for(nap);
            turn_ += messages;
            const std::uint64_t begin = base::monotonic_ns();
            world_.wait_until(flag_, Compare::ge, turn_);
            times.push_back(elapsed_us(begin));
        }
        if (!times.empty()) points.push_back({static_cast<double>(messages), lab::median(times)});
    }
    return points.empty() ? 0 : lab::fit_line(points).slope;
}

/// Times a ring in which each rank sends a block to the next. Local data is also copied out of its
/// target, as from a slot: that is part of the put. Blocks alternate between places, as with slots.
lab::Line FitMeasure::measure_blocks(const std::vector<Rank>& peers, bool near) {
    std::vector<Rank> ring{0};
    ring.insert(ring.end(), peers.begin(), peers.end());
    const auto own = std::ranges::find(ring, world_.rank());
    const Rank next = own + 1 == ring.end() ? 0 : own[1];
    const auto members = static_cast<int>(ring.size());
    const double shared =
        std::max(1.0, static_cast<double>(members) / processors_.crowd().processors);
    std::vector<lab::Point> points;
    for (const std::size_t bytes : kBlockBytes) {
        std::vector<double> times;
        std::uint64_t begin = base::monotonic_ns();
        for (int i = 0; i < repetitions_; ++i) {
            ++turn_;
            std::byte* const place = data() + turn_ % kPlaces * kBytesMax;
            world_.put_signal(place, source_.data(), bytes, flag_, turn_, SignalOp::set, next);
            world_.wait_until(flag_, Compare::ge, turn_);
            if (near) base::copy_bytes(copy_.data(), place, bytes);
            times.push_back(elapsed_us(begin) / shared);
            begin = base::monotonic_ns();
        }
        points.push_back({static_cast<double>(bytes), lab::median(times)});
    }
    return lab::fit_line(points);
}

/// Runs `work` on rank 0 and the peer, if there is one.
void FitMeasure::with_pair(std::optional<Rank> peer, const std::function<void(Team)>& work) {
    const bool takes_part = peer && (world_.rank() == 0 || world_.rank() == *peer);
    Team part = *world_.split(takes_part ? 0 : 1, world_.rank());
    while_others_sleep(peer ? std::vector<Rank>{*peer} : std::vector<Rank>{}, [&] {
        if (peer) work(part);
    });
    part.free();
    world_.barrier();
}

/// Returns the time per call. For streams it takes a low percentile, so that calls without polls of
/// the network count, as on one node.
double FitMeasure::call_us(Team team, const std::function<void()>& call, int calls) const {
    std::vector<double> times;
    for (int i = 0; i < repetitions_; ++i) {
        team.barrier();
        const std::uint64_t begin = base::monotonic_ns();
        for (int n = 0; n < calls; ++n) call();
        times.push_back(elapsed_us(begin) / calls);
    }
    return calls > 1 ? lab::percentile(times, kQuick) : lab::median(times);
}

/// Times short calls. Streams are only used locally, because they would take long over
/// a slow network.
Calls FitMeasure::calls_of(Team pair, bool near) {
    constexpr std::size_t kCell = 5;
    constexpr std::size_t kSlot = 8;
    std::array<double, kSlot> values{};
    Team self = *pair.split(pair.rank(), 0);
    pair.set_algorithm("broadcast", "flat");
    pair.set_algorithm("reduce", "flat");
    pair.set_algorithm("allreduce", "a2");
    const auto exchange = [&](std::size_t count, int calls) {
        return call_us(
            pair,
            [&, count] {
                pair.allreduce(values.data(), values.data(), count, Type::float64, Op::max);
            },
            calls);
    };
    const int stream = near ? 100 : 1;
    Calls found;
    found.alone_us = call_us(
        self, [&] { self.broadcast(values.data(), 1, Type::float64, 0); }, stream);
    found.broadcast_us = call_us(
        pair, [&] { pair.broadcast(values.data(), 1, Type::float64, 0); }, stream);
    found.cell_us = exchange(kCell, stream);
    found.slot_us = exchange(kSlot, stream);
    found.exchange_us = exchange(kCell, 1);
    found.one_way_us = call_us(
        pair, [&] { pair.reduce(values.data(), values.data(), 1, Type::float64, Op::max, 0); }, 1);
    self.free();
    if (!near) time_long_calls(pair, found);
    return found;
}

/// Times calls singly. In one-way calls the receiver measures the time.
void FitMeasure::time_long_calls(Team pair, Calls& found) {
    constexpr Rank kSender = 1;
    pair.set_algorithm("broadcast", "flat");
    pair.set_algorithm("alltoall", "direct");
    lab::Points received;
    lab::Points exchanged;
    for (const std::size_t bytes : kTurnBytes) {
        const auto x = static_cast<double>(bytes);
        const auto receive = [&] { pair.broadcast(copy_.data(), bytes, Type::uint8, kSender); };
        const auto exchange = [&] {
            pair.alltoall(source_.data(), copy_.data(), bytes, Type::uint8);
        };
        received.push_back({x, call_us(pair, receive, 1)});
        exchanged.push_back({x, call_us(pair, exchange, 1)});
    }
    found.received = lab::fit_line(received);
    found.both_ways_us = lab::fit_line(exchanged).slope - found.received.slope;
}

}  // namespace weft::tools
