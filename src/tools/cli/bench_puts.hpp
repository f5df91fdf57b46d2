// SPDX-License-Identifier: BSD-3-Clause
// bench_puts.hpp - the one-sided calls that `weft bench put-*` times, from rank 0 to the last rank.
//
// Idea     A subject models lab::MeasuringSubject. Latency: a round trip in which each side waits
//          for the flag of the other side. Rate and bandwidth: a window of puts without waits, a
//          quiet, and a signal for which the target waits. Ranks without a peer only align.
// Holds    Each batch puts different data, and both ends check it.
// Next     bench_subjects.hpp for collectives.
#pragma once

#include <algorithm>

#include "tools/cli/bench_subjects.hpp"

namespace weft::tools {

inline constexpr std::string_view kBothWays = "put-bandwidth-both";
inline constexpr std::string_view kPutBenches[] = {"put-latency", "put-rate", "put-bandwidth",
                                                   kBothWays};
[[nodiscard]] inline bool is_put_bench(std::string_view name) {
    return std::ranges::find(kPutBenches, name) != std::end(kPutBenches);
}

/// Base of put subjects: a flag and a window of slots in symmetric memory.
class PutJob : public BenchJob {
  public:
    PutJob(Team world, std::uint64_t bytes, std::uint64_t slots)
        : BenchJob(world),
          last_(world.size() - 1),
          source_(bytes),
          memory_(world, kData + bytes * slots),
          flag_(static_cast<std::uint64_t*>(memory_.data())),
          data_(static_cast<std::byte*>(memory_.data()) + kData) {
        *flag_ = 0;
        world.barrier();
    }

    void prepare(std::uint64_t batch) {
        for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = expected(batch, i);
        std::fill(data_, static_cast<std::byte*>(memory_.data()) + memory_.size_bytes(),
                  std::byte{});
    }

  protected:
    static constexpr std::size_t kData = 64;  ///< offset of the slots: the flag has its own line

    /// Returns the right contents of a byte of a slot: never 0, and different in successive batches
    /// and in adjacent bytes.
    [[nodiscard]] static std::byte expected(std::uint64_t batch, std::size_t index) {
        return static_cast<std::byte>((batch * 31 + index * 7) % 251 + 1);
    }
    [[nodiscard]] bool is_slot_right(std::uint64_t batch, const std::byte* slot) const {
        for (std::size_t i = 0; i < source_.size(); ++i) {
            if (slot[i] != expected(batch, i)) return false;
        }
        return true;
    }

    Rank last_;  ///< the last rank
    std::vector<std::byte> source_;
    Memory memory_;
    std::uint64_t* flag_;      ///< set to `calls_` by the peer
    std::byte* data_;          ///< the slots
    std::uint64_t calls_ = 0;  ///< number of calls so far
};

/// A call is a round trip. A put of 8 bytes writes the flag; other puts signal it.
class PutLatencySubject : public PutJob {
  public:
    static constexpr std::uint64_t kPutsPerCall = 2;

    PutLatencySubject(Team world, std::uint64_t bytes) : PutJob(world, bytes, 1) {}

    void call() {
        ++calls_;
        const Rank me = world_.rank();
        if (me == 0) send(last_);
        if (me == 0 || me == last_) world_.wait_until(flag_, Compare::ge, calls_);
        if (me == last_ && me != 0) send(0);
    }
    [[nodiscard]] bool check(std::uint64_t batch) const {
        if (world_.rank() != 0 && world_.rank() != last_) return true;
        return *flag_ == calls_ && (puts_flag() || is_slot_right(batch, data_));
    }

  private:
    [[nodiscard]] bool puts_flag() const { return source_.size() == sizeof calls_; }
    void send(Rank peer) {
        if (puts_flag()) {
            world_.put(flag_, &calls_, sizeof calls_, peer);
        } else {
            world_.put_signal(data_, source_.data(), source_.size(), flag_, calls_, SignalOp::set,
                              peer);
        }
    }
};

/// Ranks of a stream: the first `pairs` ranks put to the last ones.
struct PutStream {
    std::uint64_t puts = 1;  ///< by each sender in a call
    Rank pairs = 1;
    bool both_ways = false;  ///< the last ranks also put to the first ones

    [[nodiscard]] std::uint64_t total_puts() const {
        return puts * static_cast<std::uint64_t>(pairs) * (both_ways ? 2 : 1);
    }
};

/// A call is a window of puts, a quiet and a signal.
class PutStreamSubject : public PutJob {
  public:
    PutStreamSubject(Team world, std::uint64_t bytes, const PutStream& stream)
        : PutJob(world, bytes, slots_for(bytes, stream.puts)),
          puts_(stream.puts),
          slots_(slots_for(bytes, stream.puts)) {
        const Rank first = world.size() - stream.pairs;  // first of the last ranks
        const Rank me = world.rank();
        if (me < stream.pairs) {
            peer_ = first + me;
            sends_ = true;
            receives_ = stream.both_ways;
        }
        if (me >= first) {
            peer_ = me - first;
            sends_ = sends_ || stream.both_ways;
            receives_ = true;
        }
    }

    void call() {
        ++calls_;
        if (sends_) {
            for (std::uint64_t i = 0; i < puts_; ++i)
                world_.put_nbi(data_ + i % slots_ * source_.size(), source_.data(), source_.size(),
                               peer_);
            world_.quiet();
            world_.put_signal(nullptr, nullptr, 0, flag_, calls_, SignalOp::set, peer_);
        }
        if (receives_) world_.wait_until(flag_, Compare::ge, calls_);
    }
    [[nodiscard]] bool check(std::uint64_t batch) const {
        if (!receives_) return true;
        for (std::uint64_t i = 0; i < slots_; ++i) {
            if (!is_slot_right(batch, data_ + i * source_.size())) return false;
        }
        return true;
    }

  private:
    /// Returns the number of slots, which puts use cyclically. All slots together fit the heap.
    [[nodiscard]] static std::uint64_t slots_for(std::uint64_t bytes, std::uint64_t puts) {
        constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20;
        return std::clamp<std::uint64_t>(kWindowBytes / std::max<std::uint64_t>(bytes, 1), 1, puts);
    }

    std::uint64_t puts_;
    std::uint64_t slots_;
    Rank peer_ = 0;
    bool sends_ = false;
    bool receives_ = false;
};

/// Returns the number of puts of one sender in a call of a stream bench.
[[nodiscard]] inline std::uint64_t puts_per_call(std::string_view bench, std::uint64_t bytes) {
    constexpr std::uint64_t kRateWindow = 1024;
    constexpr std::uint64_t kBandwidthWindow = 64;
    constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20;
    if (bench == "put-rate") return kRateWindow;
    return std::clamp<std::uint64_t>(kBytesMax / std::max<std::uint64_t>(bytes, 1), 1,
                                     kBandwidthWindow);
}

}  // namespace weft::tools
