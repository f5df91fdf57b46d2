// SPDX-License-Identifier: BSD-3-Clause
// bench_subjects.hpp - the calls that `weft bench` times, each with inputs and expected results.
//
// Idea     A subject fits base::MeasuringSubject. Inputs differ by rank, element and batch; the expected
//          value is folded rank by rank in plain code that shares nothing with the library's kernels.
// Holds    Values are small whole numbers, so every type holds every intermediate result exactly (whole
//          types wrap, alike on both sides).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/clock.hpp"
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

/// Element `index` that `rank` contributes to batch `batch`.
template <class T>
[[nodiscard]] T bench_input(Rank rank, std::size_t index, std::uint64_t batch) {
    return static_cast<T>((static_cast<std::uint64_t>(rank) * 5 + index + 7 * batch) % 3 + 1);
}

template <class T>
[[nodiscard]] T bench_fold(Op op, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using Wide = std::uint64_t;  // wraps as the narrow type does
        if (op == Op::sum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
        if (op == Op::prod) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
        if (op == Op::band) return static_cast<T>(a & b);
        if (op == Op::bor) return static_cast<T>(a | b);
        if (op == Op::bxor) return static_cast<T>(a ^ b);
    }
    switch (op) {
        case Op::sum:
            return a + b;
        case Op::prod:
            return a * b;
        case Op::min:
            return std::min(a, b);
        case Op::max:
            return std::max(a, b);
        case Op::land:
            return static_cast<T>(a != 0 && b != 0);
        case Op::lor:
            return static_cast<T>(a != 0 || b != 0);
        case Op::lxor:
            return static_cast<T>((a != 0) != (b != 0));
        default:
            return a;
    }
}

/// The buffer of a call: always the same one, or each time the next of so many that caches do not hold
/// them. Used like a vector; what it shows is the buffer of the last call.
template <class T>
class CallBuffer {
  public:
    CallBuffer(std::size_t count, bool rotated)
        : count_(count),
          copies_(rotated ? copies_of(count * sizeof(T)) : 1),
          held_(count * copies_) {}

    [[nodiscard]] T* data() { return held_.data() + shown_ * count_; }
    [[nodiscard]] const T* data() const { return held_.data() + shown_ * count_; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] T& operator[](std::size_t index) { return data()[index]; }
    [[nodiscard]] const T& operator[](std::size_t index) const { return data()[index]; }
    [[nodiscard]] auto begin() const { return data(); }
    [[nodiscard]] auto end() const { return data() + count_; }

    void rotate() { shown_ = shown_ + 1 < copies_ ? shown_ + 1 : 0; }
    /// The value of each element, in all buffers.
    template <class Value>
    void fill(Value value_at) {
        for (std::size_t i = 0; i < held_.size(); ++i) held_[i] = value_at(i % count_);
    }

  private:
    /// More than 64 MiB together, but no more than a thousand.
    [[nodiscard]] static std::size_t copies_of(std::size_t bytes) {
        constexpr std::size_t kTotalBytes = std::size_t{64} << 20;
        constexpr std::size_t kCopiesMax = 1000;
        return std::min(kTotalBytes / std::max<std::size_t>(bytes, 1) + 2, kCopiesMax);
    }

    std::size_t count_;
    std::size_t copies_;
    std::vector<T> held_;
    std::size_t shown_ = 0;
};

template <class T>
class AllreduceSubject : public BenchJob {
  public:
    AllreduceSubject(Team world, std::uint64_t bytes, Op op, bool rotated)
        : BenchJob(world),
          op_(op),
          in_(bytes / sizeof(T), rotated),
          out_(bytes / sizeof(T), rotated) {}

    void prepare(std::uint64_t batch) {
        in_.fill([&](std::size_t i) { return bench_input<T>(world_.rank(), i, batch); });
        out_.fill([](std::size_t) { return T{}; });
    }
    void call() {
        in_.rotate();
        out_.rotate();
        world_.allreduce(in_.data(), out_.data(), in_.size(), type_of<T>(), op_);
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        for (std::size_t i = 0; i < out_.size(); ++i) {
            T expected = bench_input<T>(0, i, batch);
            for (Rank rank = 1; rank < world_.size(); ++rank)
                expected = bench_fold(op_, expected, bench_input<T>(rank, i, batch));
            if (world_.size() == 1) expected = in_[i];
            if (out_[i] != expected) return false;
        }
        return true;
    }

  protected:
    Op op_;
    CallBuffer<T> in_;
    CallBuffer<T> out_;
};

/// The result is at the root; the others keep what they had.
template <class T>
class ReduceSubject : public AllreduceSubject<T> {
  public:
    ReduceSubject(Team world, std::uint64_t bytes, Op op, Rank root, bool rotated)
        : AllreduceSubject<T>(world, bytes, op, rotated), root_(root) {}

    void call() {
        this->in_.rotate();
        this->out_.rotate();
        this->world_.reduce(this->in_.data(), this->out_.data(), this->in_.size(), type_of<T>(),
                            this->op_, root_);
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        if (this->world_.rank() == root_) return AllreduceSubject<T>::check(batch);
        for (std::size_t i = 0; i < this->out_.size(); ++i)
            if (this->out_[i] != T{}) return false;
        return true;
    }

  private:
    Rank root_;
};

template <class T>
class BroadcastSubject : public BenchJob {
  public:
    BroadcastSubject(Team world, std::uint64_t bytes, Rank root, bool rotated)
        : BenchJob(world), root_(root), buffer_(bytes / sizeof(T), rotated) {}

    void prepare(std::uint64_t batch) {
        buffer_.fill([&](std::size_t i) {
            return world_.rank() == root_ ? bench_input<T>(root_, i, batch) : T{};
        });
    }
    void call() {
        buffer_.rotate();
        world_.broadcast(buffer_.data(), buffer_.size(), type_of<T>(), root_);
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        for (std::size_t i = 0; i < buffer_.size(); ++i) {
            if (buffer_[i] != bench_input<T>(root_, i, batch)) return false;
        }
        return true;
    }

  private:
    Rank root_;
    CallBuffer<T> buffer_;
};

/// The collectives that move blocks, and scans; bytes are those of one block (of the vector, for scans).
template <class T>
class CallSubject : public BenchJob {
  public:
    CallSubject(Team world, std::uint64_t bytes, Collective collective, Op op, Rank root,
                bool rotated)
        : BenchJob(world),
          call_{.collective = collective,
                .count = bytes / sizeof(T),
                .type = type_of<T>(),
                .op = op,
                .root = root},
          in_(call_.count * (has_blocks_in() ? ranks() : 1), rotated),
          out_(call_.count * (has_blocks_out() ? ranks() : 1), rotated) {}

    void prepare(std::uint64_t batch) {
        in_.fill([&](std::size_t i) { return bench_input<T>(world_.rank(), i, batch); });
        out_.fill([](std::size_t) { return T{}; });
    }
    void call() {
        in_.rotate();
        out_.rotate();
        call_.in = in_.data();
        call_.out = out_.data();
        world_.run(call_);
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        for (std::size_t i = 0; i < out_.size(); ++i)
            if (out_[i] != expected(i, batch)) return false;
        return true;
    }

  private:
    [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(world_.size()); }
    [[nodiscard]] bool has_blocks_in() const {
        return call_.collective == Collective::scatter ||
               call_.collective == Collective::alltoall ||
               call_.collective == Collective::reduce_scatter;
    }
    [[nodiscard]] bool has_blocks_out() const {
        return call_.collective == Collective::gather ||
               call_.collective == Collective::allgather ||
               call_.collective == Collective::alltoall;
    }

    [[nodiscard]] T expected(std::size_t i, std::uint64_t batch) const {
        const std::size_t own = static_cast<std::size_t>(world_.rank()) * call_.count;
        const auto block = static_cast<Rank>(i / call_.count);
        switch (call_.collective) {
            case Collective::gather:
                if (world_.rank() != call_.root) return T{};
                [[fallthrough]];
            case Collective::allgather:
                return bench_input<T>(block, i % call_.count, batch);
            case Collective::scatter:
                return bench_input<T>(call_.root, own + i, batch);
            case Collective::alltoall:
                return bench_input<T>(block, own + i % call_.count, batch);
            case Collective::reduce_scatter:
                return fold(world_.size(), own + i, batch);
            case Collective::scan:
                return fold(world_.rank() + 1, i, batch);
            default:
                return world_.rank() == 0 ? T{} : fold(world_.rank(), i, batch);
        }
    }
    /// Over the first ranks.
    [[nodiscard]] T fold(Rank count, std::size_t index, std::uint64_t batch) const {
        T folded = bench_input<T>(0, index, batch);
        for (Rank rank = 1; rank < count; ++rank)
            folded = bench_fold(call_.op, folded, bench_input<T>(rank, index, batch));
        return folded;
    }

    Call call_;
    CallBuffer<T> in_;
    CallBuffer<T> out_;
};

}  // namespace weft::front
