// SPDX-License-Identifier: BSD-3-Clause
// bench_subjects.hpp - the calls that `weft bench` times, each with inputs and expected results.
//
// Idea     A subject fits lab::MeasuringSubject. Expected values are folded rank by rank, a tile at a time, by
//          what lab/measure/sample_elements.hpp says of the type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "lab/measure/sample_elements.hpp"
#include "weft/weft.hpp"

namespace weft::front {

/// What the subjects share: how the ranks of a bench meet and agree.
class BenchJob {
  public:
    explicit BenchJob(Team world) : world_(world) {}

    [[nodiscard]] static std::uint64_t now_ns() { return base::monotonic_ns(); }
    void align() { world_.barrier(); }
    void largest(std::span<double> values) { world_.allreduce<double>(values, Op::max); }

  protected:
    Team world_;
};

class BarrierSubject : public BenchJob {
  public:
    using BenchJob::BenchJob;

    void prepare(std::uint64_t) {}
    void call() { world_.barrier(); }
    /// One rank comes late, each in turn: nobody may leave before it has come. Clocks of one machine
    /// agree; ranks of several machines only check that they get through.
    [[nodiscard]] bool check(std::uint64_t batch) {
        constexpr std::uint64_t kLateNs = 50'000;
        const std::uint64_t begin = now_ns();
        if (batch % static_cast<std::uint64_t>(world_.size()) ==
            static_cast<std::uint64_t>(world_.rank())) {
            while (now_ns() < begin + kLateNs) continue;
        }
        double bounds[2];
        bounds[0] = static_cast<double>(now_ns());
        call();
        bounds[1] = -static_cast<double>(now_ns());
        largest(bounds);
        return bounds[0] <= -bounds[1];
    }
};

/// The buffer of a call: always the same one, or each time the next of so many that caches do not hold
/// them. What it shows is the buffer of the last call.
class CallBuffer {
  public:
    CallBuffer(std::size_t bytes, bool rotated)
        : bytes_(bytes), copies_(rotated ? copies_of(bytes) : 1), held_(bytes * copies_) {}

    [[nodiscard]] std::byte* data() { return held_.data() + shown_ * bytes_; }
    void rotate() { shown_ = shown_ + 1 < copies_ ? shown_ + 1 : 0; }
    void clear() { std::fill(held_.begin(), held_.end(), std::byte{}); }
    /// write(start) fills one buffer.
    template <class Write>
    void fill(Write write) {
        for (std::size_t copy = 0; copy < copies_; ++copy) write(held_.data() + copy * bytes_);
    }

  private:
    /// More than 64 MiB together, but no more than a thousand.
    [[nodiscard]] static std::size_t copies_of(std::size_t bytes) {
        constexpr std::size_t kTotalBytes = std::size_t{64} << 20;
        constexpr std::size_t kCopiesMax = 1000;
        return std::min(kTotalBytes / std::max<std::size_t>(bytes, 1) + 2, kCopiesMax);
    }

    std::size_t bytes_;
    std::size_t copies_;
    std::vector<std::byte> held_;
    std::size_t shown_ = 0;
};

/// What is called.
struct CallOptions {
    Collective collective = Collective::allreduce;
    Type type = Type::float64;
    Op op = Op::sum;
    Rank root = 0;
    bool rotated = false;
};

/// What subjects with data share: elements, buffers, and expected values a tile at a time.
class DataSubject : public BenchJob {
  protected:
    DataSubject(Team world, const CallOptions& options)
        : BenchJob(world),
          elements_(lab::sample_elements(options.type)),
          options_(options),
          ranks_(static_cast<std::size_t>(world.size())),
          rank_(static_cast<std::size_t>(world.rank())) {}

    [[nodiscard]] bool at_root() const { return world_.rank() == options_.root; }

    /// Whether `count` elements are what expect(to, first, tile) writes; `to` is clear, as the output was.
    template <class Expect>
    [[nodiscard]] bool holds(const std::byte* found, std::size_t count, Expect expect) const {
        for (std::size_t first = 0; first < count; first += kTile) {
            const std::size_t tile = std::min(kTile, count - first);
            std::byte expected[kTile * kElementMax] = {};
            expect(expected, first, tile);
            if (!elements_.equal(found + first * elements_.bytes, expected, tile)) return false;
        }
        return true;
    }
    /// Over the first `ranks` ranks; none: nothing.
    void fold(std::byte* to, Rank ranks, lab::SampleRange range) const {
        if (ranks == 0) return;
        elements_.write(to, range);
        for (range.rank = 1; range.rank < ranks; ++range.rank) {
            std::byte other[kTile * kElementMax];
            elements_.write(other, range);
            elements_.fold(options_.op, to, other, range.count);
        }
    }

    const lab::SampleElements& elements_;
    CallOptions options_;
    std::size_t ranks_;
    std::size_t rank_;

  private:
    static constexpr std::size_t kTile = 64;
    static constexpr std::size_t kElementMax = 32;
};

/// Any collective with data and one count; bytes are those of one block (of the vector, where there are
/// no blocks).
class CallSubject : public DataSubject {
  public:
    CallSubject(Team world, std::uint64_t bytes, const CallOptions& options)
        : DataSubject(world, options),
          count_(bytes / elements_.bytes),
          in_(bytes * (has_blocks_in() ? ranks_ : 1), options.rotated),
          out_(is_broadcast() ? 0 : bytes * (has_blocks_out() ? ranks_ : 1), options.rotated) {}

    void prepare(std::uint64_t batch) {
        out_.clear();
        if (is_broadcast() && !at_root()) return in_.clear();
        const std::size_t count = has_blocks_in() ? count_ * ranks_ : count_;
        in_.fill([&](std::byte* start) {
            elements_.write(start, {world_.rank(), 0, count, batch});
        });
    }
    void call() {
        in_.rotate();
        out_.rotate();
        Call call{.collective = options_.collective,
                  .in = in_.data(),
                  .out = is_broadcast() ? in_.data() : out_.data(),
                  .count = count_,
                  .type = options_.type,
                  .op = options_.op,
                  .root = options_.root};
        world_.run(call);
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        const std::size_t blocks = has_blocks_out() ? ranks_ : 1;
        const std::byte* const found = is_broadcast() ? in_.data() : out_.data();
        for (std::size_t block = 0; block < blocks; ++block) {
            const auto expect = [&](std::byte* to, std::size_t first, std::size_t tile) {
                expect_in(to, static_cast<Rank>(block), first, tile, batch);
            };
            if (!holds(found + block * count_ * elements_.bytes, count_, expect)) return false;
        }
        return true;
    }

  protected:
    CallBuffer& in() { return in_; }
    CallBuffer& out() { return out_; }
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] const CallOptions& options() const { return options_; }

  private:
    [[nodiscard]] bool is_broadcast() const { return options_.collective == Collective::broadcast; }
    [[nodiscard]] bool has_blocks_in() const {
        return options_.collective == Collective::scatter ||
               options_.collective == Collective::alltoall ||
               options_.collective == Collective::reduce_scatter;
    }
    [[nodiscard]] bool has_blocks_out() const {
        return options_.collective == Collective::gather ||
               options_.collective == Collective::allgather ||
               options_.collective == Collective::alltoall;
    }

    /// What must stand in a block of the output behind `first`.
    void expect_in(std::byte* to, Rank block, std::size_t first, std::size_t tile,
                   std::uint64_t batch) const {
        const std::size_t own = rank_ * count_ + first;
        switch (options_.collective) {
            case Collective::broadcast:
                return elements_.write(to, {options_.root, first, tile, batch});
            case Collective::reduce:
                if (!at_root()) return;
                [[fallthrough]];
            case Collective::allreduce:
                return fold(to, world_.size(), {0, first, tile, batch});
            case Collective::gather:
                if (!at_root()) return;
                [[fallthrough]];
            case Collective::allgather:
                return elements_.write(to, {block, first, tile, batch});
            case Collective::scatter:
                return elements_.write(to, {options_.root, own, tile, batch});
            case Collective::alltoall:
                return elements_.write(to, {block, own, tile, batch});
            case Collective::reduce_scatter:
                return fold(to, world_.size(), {0, own, tile, batch});
            case Collective::scan:
                return fold(to, world_.rank() + 1, {0, first, tile, batch});
            default:  // exscan
                return fold(to, world_.rank(), {0, first, tile, batch});
        }
    }

    std::size_t count_;
    CallBuffer in_;
    CallBuffer out_;
};

/// The same by the calls that most programs make.
class AllreduceSubject : public CallSubject {
  public:
    using CallSubject::CallSubject;
    void call() {
        in().rotate();
        out().rotate();
        world_.allreduce(in().data(), out().data(), count(), options().type, options().op);
    }
};

class BroadcastSubject : public CallSubject {
  public:
    using CallSubject::CallSubject;
    void call() {
        in().rotate();
        world_.broadcast(in().data(), count(), options().type, options().root);
    }
};

class ReduceSubject : public CallSubject {
  public:
    using CallSubject::CallSubject;
    void call() {
        in().rotate();
        out().rotate();
        world_.reduce(in().data(), out().data(), count(), options().type, options().op,
                      options().root);
    }
};

}  // namespace weft::front
