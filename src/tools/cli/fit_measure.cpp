// SPDX-License-Identifier: BSD-3-Clause
// fit_measure.cpp - puts and short calls, as `weft fit` measures them.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/copy.hpp"
#include "tools/cli/fit.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kBytesMax = 262144;
constexpr std::array<std::size_t, 6> kMessageBytes{8, 1024, 4096, 16384, 65536, kBytesMax};
constexpr std::array<std::size_t, 4> kBlockBytes{4096, 16384, 65536, kBytesMax};
constexpr std::size_t kData = 64;  ///< offset of the data in `memory_`, after the line of the flag
constexpr std::size_t kSlots = 4;  ///< number of slots of kBytesMax bytes there

}  // namespace

lab::Line Multicast::line(double lab::Summary::*statistic) const {
    std::vector<lab::Point> points;
    for (std::size_t i = 0; i < by_peers.size(); ++i)
        points.push_back({static_cast<double>(i + 1), by_peers[i].*statistic});
    return lab::fit_line(points);
}

PutMeasure::PutMeasure(FitRanks& ranks, int repetitions)
    : ranks_(ranks),
      world_(ranks.world()),
      exchange_(ranks.exchange()),
      repetitions_(repetitions),
      memory_(world_, kData + kSlots * kBytesMax),
      flag_(static_cast<std::uint64_t*>(memory_.data())),
      source_(2 * kBytesMax),
      copy_(2 * kBytesMax) {
    *flag_ = 0;
    world_.barrier();
}

std::byte* PutMeasure::data() {
    return static_cast<std::byte*>(memory_.data()) + kData;
}

PutMeasure::Waits PutMeasure::fastest_waits() const {
    return ranks_.processors().host_load().processors > 1 ? Waits::spinning : Waits::yielding;
}

void PutMeasure::time_flag() {
    if (ranks_.local_peers().empty() || fastest_waits() != Waits::spinning) return;
    const Rank peer = ranks_.local_peers().front();
    ranks_.while_others_sleep({peer},
                              [&] { flags_us_.push_back(half_trip_us(peer, 0, Waits::spinning)); });
}

PeerTimes PutMeasure::measure(const char* name, const std::vector<Rank>& peers) {
    PeerTimes kind{.name = name, .peers = peers};
    const bool near = kind.is_near();
    const Rank first = peers.front();
    time_flag();
    ranks_.while_others_sleep({first}, [&] {
        kind.round_trips = measure_round_trips(first);
        kind.flag_us = near ? half_trip_us(first, 0, fastest_waits()) : 0;
    });
    // Local peers may sleep, because puts to them are copies. Remote peers must poll the network.
    if (kind.peers.size() > 1)
        for (const bool blocking : {false, true})
            ranks_.while_others_sleep(near ? std::vector<Rank>{} : kind.peers,
                                      [&] { multicast(kind, blocking); });
    if (!near)
        ranks_.while_others_sleep({first}, [&] { kind.receive_us = measure_receptions(kind); });
    time_flag();
    ranks_.while_others_sleep(kind.peers, [&] { kind.blocks = measure_blocks(kind.peers, near); });
    time_flag();
    ranks_.with_pair(first, [&](Team pair) { kind.calls = calls_of(pair, near); });
    kind.shared_us = measure_shared(kind);
    time_flag();
    return kind;
}

/// Peers poll the network until rank 0 has all its times.
void PutMeasure::multicast(PeerTimes& kind, bool blocking) {
    const char* const mode = blocking ? "blocking" : "non-blocking";
    Multicast issued{mode, "issued", {}};
    Multicast delivered{mode, "landed", {}};
    ++exchange_;
    if (world_.rank() != 0) {
        world_.wait_until(flag_, Compare::ge, exchange_);
        return;
    }
    for (std::size_t peers = 1; peers <= kind.peers.size(); ++peers) {
        std::vector<double> issue_us;
        std::vector<double> delivery_us;
        for (int i = 0; i < repetitions_; ++i) {
            const std::uint64_t begin = base::monotonic_ns();
            for (std::size_t peer = 0; peer < peers; ++peer) put(kind.peers[peer], blocking);
            issue_us.push_back(elapsed_us(begin));
            world_.quiet();
            delivery_us.push_back(elapsed_us(begin));
        }
        issued.by_peers.push_back(lab::summarize(issue_us));
        delivered.by_peers.push_back(lab::summarize(delivery_us));
    }
    for (const Rank peer : kind.peers) send(peer, sizeof(std::uint64_t));
    kind.multicasts.push_back(std::move(issued));
    kind.multicasts.push_back(std::move(delivered));
}

void PutMeasure::put(Rank peer, bool blocking) {
    if (blocking)
        world_.put(data(), source_.data(), sizeof(std::uint64_t), peer);
    else
        world_.put_nbi(data(), source_.data(), sizeof(std::uint64_t), peer);
}

/// Returns the line of half round trips (medians) over the bytes of a put.
lab::Line PutMeasure::measure_round_trips(Rank peer) {
    std::vector<lab::Point> points;
    for (const std::size_t bytes : kMessageBytes) {
        const double round_us = median_us(repetitions_, [&] { round_trip(peer, bytes); });
        points.push_back({static_cast<double>(bytes), round_us / 2});
    }
    return lab::fit_line(points);
}

/// Makes one round trip: rank 0 sends, the peer answers.
void PutMeasure::round_trip(Rank peer, std::size_t bytes, Waits waits) {
    ++exchange_;
    const Rank me = world_.rank();
    if (me == 0) send(peer, bytes);
    const std::atomic_ref<std::uint64_t> flag(*flag_);
    while (waits != Waits::usual && flag.load(std::memory_order_acquire) < exchange_)
        if (waits == Waits::yielding) ::sched_yield();
    world_.wait_until(flag_, Compare::ge, exchange_);
    if (me == peer) send(0, bytes);
}

void PutMeasure::send(Rank peer, std::size_t bytes) {
    world_.put_signal(data(), source_.data(), bytes, flag_, exchange_, SignalOp::set, peer);
}

/// Measures with the first peer, if the host is oversubscribed and the peer is on rank 0's host. A
/// local peer does not poll the network, because a job of one node has none.
std::optional<double> PutMeasure::measure_shared(PeerTimes& kind) {
    const bool near = kind.is_near();
    if (!ranks_.processors().host_load().is_oversubscribed() ||
        (!near && ranks_.processors().host_load().ranks != world_.size()))
        return {};
    const Rank peer = kind.peers.front();
    const std::optional<int> shared = ranks_.processors().common(0, peer);
    if (!shared) {
        kind.bound = true;
        return {};
    }
    double shared_us = 0;
    const Waits waits = near ? Waits::yielding : Waits::usual;
    ranks_.while_others_sleep(
        {peer}, [&] { shared_us = half_trip_us(peer, sizeof(std::uint64_t), waits); }, shared);
    return shared_us;
}

double PutMeasure::half_trip_us(Rank peer, std::size_t bytes, Waits waits) {
    constexpr int kTrips = 10;
    const double all_us = median_us(repetitions_, [&] {
        for (int trip = 0; trip < kTrips; ++trip) round_trip(peer, bytes, waits);
    });
    return all_us / (2 * kTrips);
}

/// Returns the time to receive one message that has arrived: the peer sends while rank 0 sleeps.
double PutMeasure::measure_receptions(const PeerTimes& kind) {
    const Rank peer = kind.peers.front();
    // All messages arrive before rank 0 wakes up, also over a slow network.
    const auto pause = std::max(
        std::chrono::microseconds(2000),
        std::chrono::microseconds(static_cast<std::int64_t>(kind.round_trips.intercept * 8)));
    constexpr std::array<std::uint64_t, 3> kMessages{8, 24, 40};
    std::vector<lab::Point> points;
    for (const std::uint64_t messages : kMessages) {
        std::vector<double> times;
        for (int i = 0; i < std::max(3, repetitions_ / 10); ++i) {
            ++exchange_;
            if (world_.rank() == peer) {
                world_.wait_until(flag_, Compare::ge, exchange_);
                for (std::uint64_t sent = 0; sent < messages; ++sent) {
                    ++exchange_;
                    send(0, sizeof(std::uint64_t));
                }
                continue;
            }
            send(peer, sizeof(std::uint64_t));
            std::this_thread::sleep_for(pause);
            exchange_ += messages;
            const std::uint64_t begin = base::monotonic_ns();
            world_.wait_until(flag_, Compare::ge, exchange_);
            times.push_back(elapsed_us(begin));
        }
        if (!times.empty()) points.push_back({static_cast<double>(messages), lab::median(times)});
    }
    return points.empty() ? 0 : lab::fit_line(points).slope;
}

/// Times a ring in which each rank sends a block to the next rank. A local receiver also copies the
/// block, as a receiver copies data out of a slot. Successive blocks use different slots.
lab::Line PutMeasure::measure_blocks(const std::vector<Rank>& peers, bool near) {
    std::vector<Rank> ring{0};
    ring.insert(ring.end(), peers.begin(), peers.end());
    const auto own = std::ranges::find(ring, world_.rank());
    const Rank next = own + 1 == ring.end() ? 0 : own[1];
    const auto members = static_cast<int>(ring.size());
    const double shared =
        std::max(1.0, static_cast<double>(members) / ranks_.processors().host_load().processors);
    std::vector<lab::Point> points;
    for (const std::size_t bytes : kBlockBytes) {
        std::vector<double> times;
        std::uint64_t begin = base::monotonic_ns();
        for (int i = 0; i < repetitions_; ++i) {
            ++exchange_;
            std::byte* const slot = data() + exchange_ % kSlots * kBytesMax;
            world_.put_signal(slot, source_.data(), bytes, flag_, exchange_, SignalOp::set, next);
            world_.wait_until(flag_, Compare::ge, exchange_);
            if (near) base::copy_bytes(copy_.data(), slot, bytes);
            times.push_back(elapsed_us(begin) / shared);
            begin = base::monotonic_ns();
        }
        points.push_back({static_cast<double>(bytes), lab::median(times)});
    }
    return lab::fit_line(points);
}

/// Returns the time per call of `calls` calls after a barrier: the median if `calls` is 1, else a
/// low percentile, to exclude polls of the network, which a job of one node does not make.
double PutMeasure::call_us(Team team, const std::function<void()>& call, int calls) const {
    const std::vector<double> times = times_us(
        repetitions_,
        [&] {
            for (int n = 0; n < calls; ++n) call();
        },
        [&] { team.barrier(); });
    return (calls > 1 ? lab::percentile(times, kUndisturbed) : lab::median(times)) / calls;
}

/// Times short calls. Remote calls are not repeated, which would take long over a slow network.
Calls PutMeasure::calls_of(Team pair, bool near) {
    constexpr std::size_t kCell = 5;  // doubles that fit a cell
    constexpr std::size_t kSlot = 8;  // doubles that need a slot
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
    const int repeated = near ? 100 : 1;
    Calls found;
    found.alone_us = call_us(
        self, [&] { self.broadcast(values.data(), 1, Type::float64, 0); }, repeated);
    found.broadcast_us = call_us(
        pair, [&] { pair.broadcast(values.data(), 1, Type::float64, 0); }, repeated);
    found.cell_us = exchange(kCell, repeated);
    found.slot_us = exchange(kSlot, repeated);
    found.exchange_us = exchange(kCell, 1);
    found.one_way_us = call_us(
        pair, [&] { pair.reduce(values.data(), values.data(), 1, Type::float64, Op::max, 0); }, 1);
    self.free();
    if (!near) time_long_calls(pair, found);
    return found;
}

/// Times calls of up to kBytesMax bytes. Rank 0 receives the broadcast and measures its time.
void PutMeasure::time_long_calls(Team pair, Calls& found) {
    constexpr Rank kSender = 1;
    pair.set_algorithm("broadcast", "flat");
    pair.set_algorithm("alltoall", "direct");
    lab::Points received;
    lab::Points exchanged;
    for (const std::size_t bytes : kMessageBytes) {
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
