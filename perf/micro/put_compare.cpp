// SPDX-License-Identifier: BSD-3-Clause
// put_compare.cpp - one-sided calls against libfabric alone, or against memcpy on a node.
//
// Idea     The program runs on two ranks. Both sides of each figure are measured alternately, round
//          by round, so that changes of the machine affect both. The bare side does as little as
//          possible. Between nodes, it has its own endpoint with the job's provider and writes
//          without bookkeeping. To detect delivery, it sends a write with an immediate, which the
//          peer answers. On a node, it copies into the peer's mapped memory and sets a flag.
//          Usage: weft run -n 2 [--nodes 2] -- perf_put_compare [--rounds R] [--json]
// Holds    The program prints medians over rounds, and the ratio of times, weft / bare.
// Next     src/tools/cli/bench_puts.hpp for the figures without a bare side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.hpp"
#include "perf/micro/bare_endpoint.hpp"
#include "tools/lab/program/command_line.hpp"
#include "tools/lab/program/json.hpp"
#include "tools/measure/statistics.hpp"
#include "weft/weft.hpp"

namespace {

using weft::Compare;
using weft::Rank;
using weft::lab::Json;
using weft::lab::median;
using weft::micro::BareAddress;
using weft::micro::BareEndpoint;
using weft::micro::fail;

constexpr std::size_t kBytesMax = std::size_t{1} << 20;
constexpr std::size_t kWindowBytesMax = std::size_t{16} << 20;
constexpr std::size_t kDataOffset = 64;  ///< start of the data after the flag's cache line
constexpr int kTurns = 500;              ///< round trips in a round; a tenth above 4096 bytes
constexpr std::array<std::size_t, 5> kSizes{8, 256, 4096, 65536, kBytesMax};

std::size_t puts_in_window(std::size_t bytes) {
    return std::clamp<std::size_t>(kWindowBytesMax / bytes, 1, 1024);
}

/// Interface of both sides: a round trip with one put in each direction, and a window of puts that
/// ends when all are delivered.
class Side {
  public:
    virtual ~Side() = default;
    virtual void ping(std::size_t bytes) = 0;
    virtual void window(std::size_t bytes, std::size_t puts) = 0;
};

class Weft final : public Side {
  public:
    explicit Weft(weft::Team world)
        : world_(world),
          memory_(world, kDataOffset + kBytesMax),
          flag_(static_cast<std::uint64_t*>(memory_.data())),
          data_(static_cast<std::byte*>(memory_.data()) + kDataOffset),
          source_(kBytesMax) {
        *flag_ = 0;
        world.barrier();
    }
    void ping(std::size_t bytes) override {
        ++turn_;
        if (world_.rank() == 0) send(bytes);
        world_.wait_until(flag_, Compare::ge, turn_);
        if (world_.rank() == 1) send(bytes);
    }
    void window(std::size_t bytes, std::size_t puts) override {
        ++turn_;
        if (world_.rank() == 1) return world_.wait_until(flag_, Compare::ge, turn_);
        for (std::size_t i = 0; i < puts; ++i) world_.put_nbi(data_, source_.data(), bytes, 1);
        world_.quiet();
        world_.put_signal(nullptr, nullptr, 0, flag_, turn_, weft::SignalOp::set, 1);
    }

  private:
    void send(std::size_t bytes) {
        const Rank peer = 1 - world_.rank();
        if (bytes == sizeof turn_) return world_.put(flag_, &turn_, sizeof turn_, peer);
        world_.put_signal(data_, source_.data(), bytes, flag_, turn_, weft::SignalOp::set, peer);
    }

    weft::Team world_;
    weft::Memory memory_;  ///< symmetric: flag_ and data_
    std::uint64_t* flag_;
    std::byte* data_;
    std::vector<std::byte> source_;
    std::uint64_t turn_ = 0;  ///< number of the round trip or window; the value of the flag
};

/// Bare side on a node: memcpy into the peer's mapped memory, then a store of the peer's flag.
class Copy final : public Side {
  public:
    explicit Copy(weft::Team world)
        : rank_(world.rank()),
          memory_(world, kDataOffset + kBytesMax),
          own_flag_(static_cast<std::uint64_t*>(memory_.data())),
          peer_memory_(static_cast<std::byte*>(world.ptr(memory_.data(), 1 - rank_))),
          source_(kBytesMax) {
        *own_flag_ = 0;
        world.barrier();
    }
    void ping(std::size_t bytes) override {
        ++turn_;
        if (rank_ == 0) send(bytes);
        await();
        if (rank_ == 1) send(bytes);
    }
    void window(std::size_t bytes, std::size_t puts) override {
        ++turn_;
        if (rank_ == 1) return await();
        for (std::size_t i = 0; i < puts; ++i) {
            std::memcpy(peer_memory_ + kDataOffset, source_.data(), bytes);
            // Without the fence, the compiler could omit all copies but the last.
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        set_flag();
    }

  private:
    void send(std::size_t bytes) {
        if (bytes > sizeof turn_) std::memcpy(peer_memory_ + kDataOffset, source_.data(), bytes);
        set_flag();
    }
    void set_flag() {
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(peer_memory_))
            .store(turn_, std::memory_order_release);
    }
    void await() {
        while (std::atomic_ref(*own_flag_).load(std::memory_order_acquire) < turn_) continue;
    }

    Rank rank_;
    weft::Memory memory_;      ///< a flag, and data from kDataOffset on
    std::uint64_t* own_flag_;  ///< last turn that the peer has announced
    std::byte* peer_memory_;   ///< the peer's memory_, mapped
    std::vector<std::byte> source_;
    std::uint64_t turn_ = 0;  ///< number of the round trip or window
};

/// Bare side between nodes: libfabric without weft.
class Bare final : public Side, private BareEndpoint {
  public:
    Bare(weft::Team world, const std::string& provider)
        : BareEndpoint(provider, kBytesMax), rank_(world.rank()) {
        BareAddress addresses[2] = {};
        addresses[rank_] = address();
        for (Rank root = 0; root < 2; ++root)
            world.broadcast(&addresses[root], sizeof(BareAddress), weft::Type::uint8, root);
        connect(addresses[1 - rank_]);
    }
    void ping(std::size_t bytes) override {
        if (rank_ == 0) announce(bytes);
        await();
        if (rank_ == 1) announce(bytes);
    }
    void window(std::size_t bytes, std::size_t puts) override {
        if (rank_ == 1) {
            await();
            return announce(8);
        }
        for (std::size_t i = 0; i < puts; ++i) write(bytes);
        announce(8);
        await();
        while (incomplete_ != 0) progress();
    }

  private:
    void progress() {
        std::array<fi_cq_data_entry, 16> entries;
        const ssize_t got = fi_cq_read(completions_.get(), entries.data(), entries.size());
        if (got == -FI_EAGAIN) return;
        if (got < 0) fail(fmt::format("fi_cq_read: {}", fi_strerror(static_cast<int>(-got))));
        for (ssize_t i = 0; i < got; ++i) {
            const auto& entry = entries[static_cast<std::size_t>(i)];
            (entry.flags & FI_REMOTE_WRITE) != 0 ? ++arrived_ : --incomplete_;
        }
    }
    void await() {
        while (arrived_ == 0) progress();
        --arrived_;
    }
    void write(std::size_t bytes) {
        post_until_accepted(
            "write",
            [&] {
                return bytes <= inject_bytes_
                           ? fi_inject_write(endpoint_.get(), buffer_.data(), bytes, peer_, base_,
                                             key_)
                           : fi_write(endpoint_.get(), buffer_.data(), bytes,
                                      fi_mr_desc(region_.get()), peer_, base_, key_,
                                      &contexts_[next_++ % contexts_.size()]);
            },
            [&] { progress(); });
        if (bytes > inject_bytes_) ++incomplete_;
        while (incomplete_ > contexts_.size() / 4) progress();
    }
    void announce(std::size_t bytes) {
        post_until_accepted(
            "writedata",
            [&] {
                return bytes <= inject_bytes_
                           ? fi_inject_writedata(endpoint_.get(), buffer_.data(), bytes, 1, peer_,
                                                 base_, key_)
                           : fi_writedata(endpoint_.get(), buffer_.data(), bytes,
                                          fi_mr_desc(region_.get()), 1, peer_, base_, key_,
                                          &contexts_[next_++ % contexts_.size()]);
            },
            [&] { progress(); });
        if (bytes > inject_bytes_) ++incomplete_;
    }

    Rank rank_;
    std::array<fi_context2, 256> contexts_{};
    std::size_t next_ = 0;
    std::size_t incomplete_ = 0;  ///< writes without a completion
    std::size_t arrived_ = 0;     ///< immediates of the peer that await() has not consumed
};

/// Returns the microseconds of one put: half of a round trip.
double time_pings(weft::Team world, Side& side, std::size_t bytes) {
    const int turns = bytes > 4096 ? kTurns / 10 : kTurns;
    world.barrier();
    const std::uint64_t start = weft::base::monotonic_ns();
    for (int turn = 0; turn < turns; ++turn) side.ping(bytes);
    return static_cast<double>(weft::base::monotonic_ns() - start) / turns / 2000;
}

/// Returns the microseconds of one put in a window.
double time_window(weft::Team world, Side& side, std::size_t bytes) {
    const std::size_t puts = puts_in_window(bytes);
    world.barrier();
    const std::uint64_t start = weft::base::monotonic_ns();
    side.window(bytes, puts);
    return static_cast<double>(weft::base::monotonic_ns() - start) / static_cast<double>(puts) /
           1000;
}

/// Medians in microseconds, for one put.
struct Figures {
    std::size_t bytes = 0;
    double put_us = 0;
    double bare_put_us = 0;
    double window_us = 0;
    double bare_window_us = 0;
};

Figures compare(weft::Team world, Side& weft_side, Side& bare, std::size_t bytes, int rounds) {
    std::vector<double> ping[2];
    std::vector<double> window[2];
    for (int round = 0; round < rounds; ++round) {
        ping[0].push_back(time_pings(world, weft_side, bytes));
        ping[1].push_back(time_pings(world, bare, bytes));
        window[0].push_back(time_window(world, weft_side, bytes));
        window[1].push_back(time_window(world, bare, bytes));
    }
    return {bytes, median(ping[0]), median(ping[1]), median(window[0]), median(window[1])};
}

void print_line(const Figures& figures) {
    const auto per_second = [](double us) { return 1e6 / us; };
    const auto gigabytes = [&](double us) { return static_cast<double>(figures.bytes) / us / 1e3; };
    fmt::print("{:>8} {:>9.3f} {:>9.3f} {:>6.2f} {:>11.0f} {:>11.0f} {:>9.3f} {:>9.3f} {:>6.2f}\n",
               figures.bytes, figures.put_us, figures.bare_put_us,
               figures.put_us / figures.bare_put_us, per_second(figures.window_us),
               per_second(figures.bare_window_us), gigabytes(figures.window_us),
               gigabytes(figures.bare_window_us), figures.window_us / figures.bare_window_us);
    std::fflush(stdout);
}

Json to_json(const Figures& figures) {
    return {{"bytes", figures.bytes},
            {"put_us", figures.put_us},
            {"bare_put_us", figures.bare_put_us},
            {"put_ratio", figures.put_us / figures.bare_put_us},
            {"window_us", figures.window_us},
            {"bare_window_us", figures.bare_window_us},
            {"window_ratio", figures.window_us / figures.bare_window_us}};
}

int run(int rounds, bool json) {
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    if (world.size() != 2) fail(fmt::format("{} ranks, expected 2", world.size()));
    const bool one_node = runtime.nodes() == 1;
    Weft weft_side(world);
    std::unique_ptr<Side> bare;
    if (one_node)
        bare = std::make_unique<Copy>(world);
    else
        bare = std::make_unique<Bare>(world, runtime.provider());
    bare->ping(8);  // connects
    weft_side.ping(8);
    const std::string against = one_node ? "memcpy" : "libfabric " + runtime.provider();
    const bool prints = world.rank() == 0 && !json;
    if (prints) {
        fmt::print("weft against {}, medians of {} rounds\n", against, rounds);
        fmt::print("{:>8} {:>9} {:>9} {:>6} {:>11} {:>11} {:>9} {:>9} {:>6}\n", "bytes", "put_us",
                   "bare_us", "ratio", "puts/s", "bare/s", "GB/s", "bare GB/s", "ratio");
    }
    Json object{{"against", against},
                {"nodes", runtime.nodes()},
                {"rounds", rounds},
                {"rows", Json::array()}};
    for (const std::size_t bytes : kSizes) {
        const Figures figures = compare(world, weft_side, *bare, bytes, rounds);
        if (prints) print_line(figures);
        object["rows"].push_back(to_json(figures));
    }
    world.barrier();
    if (world.rank() == 0 && json) weft::lab::print_json(object);
    runtime.finalize();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    int rounds = 15;
    bool json = false;
    weft::lab::CommandLine line{"put_compare",
                                "One-sided calls against libfabric alone, or memcpy on a node."};
    line.option("--rounds", rounds, "rounds of each figure, for both sides").within(1, 100'000);
    line.flag("--json", json, "one JSON object on stdout");
    if (const auto status = line.read(argc, argv)) return *status;
    return run(rounds, json);
}
