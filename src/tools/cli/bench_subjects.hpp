// SPDX-License-Identifier: BSD-3-Clause
// bench_subjects.hpp - the calls that `weft bench` times, each with inputs and expected results.
//
// Idea     A subject models lab::MeasuringSubject. oracle::Oracle has inputs and expected results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "tools/lab/oracle/oracle.hpp"
#include "tools/measure/block_sizes.hpp"
#include "tools/measure/fresh_buffers.hpp"
#include "tools/measure/measuring.hpp"
#include "weft/weft.hpp"

namespace weft::tools {

/// Base of subjects: the members of lab::MeasuringSubject that are equal for all calls.
class BenchJob {
  public:
    explicit BenchJob(Team world) : world_(world) {}

    [[nodiscard]] static std::uint64_t now_ns() { return base::monotonic_ns(); }
    void synchronize() { world_.barrier(); }
    void reduce_max(std::span<double> values) { world_.allreduce<double>(values, Op::max); }
    void sum(std::span<double> values) { world_.allreduce<double>(values, Op::sum); }

  protected:
    Team world_;
};

class BarrierSubject : public BenchJob {
  public:
    BarrierSubject(Team world, std::uint64_t /*bytes*/) : BenchJob(world) {}

    void prepare(std::uint64_t) {}
    void call() { world_.barrier(); }
    /// Delays one rank in each check, in rotation, and returns true if no rank left before the last
    /// one entered. All ranks must be on one machine, because their clock readings are compared.
    [[nodiscard]] bool check(std::uint64_t batch) {
        constexpr std::uint64_t kLateNs = 50'000;  // much longer than a barrier
        const std::uint64_t begin = now_ns();
        if (batch % static_cast<std::uint64_t>(world_.size()) ==
            static_cast<std::uint64_t>(world_.rank())) {
            while (now_ns() < begin + kLateNs) continue;
        }
        double bounds[2];
        bounds[0] = static_cast<double>(now_ns());
        call();
        bounds[1] = -static_cast<double>(now_ns());
        reduce_max(bounds);
        return bounds[0] <= -bounds[1];
    }
};

/// Makes a subject with its buffers. Fails on all ranks if one of them has too little memory.
template <class Subject, class... Arguments>
base::Result<std::unique_ptr<Subject>> make_subject(Team world, std::uint64_t bytes,
                                                    const Arguments&... arguments) {
    std::unique_ptr<Subject> subject;
    try {
        subject = std::make_unique<Subject>(arguments...);
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    if (world.allreduce<int>(subject != nullptr ? 1 : 0, Op::min) == 0)
        return base::fail(Status::memory, "not enough memory for --bytes {}", bytes);
    return subject;
}

enum class BufferKind : std::uint8_t { reused, rotated, fresh };

/// Buffers of calls, as --buffers selects: one for all calls, a set that exceeds the caches, or a
/// new one for each call.
class CallBuffer {
  public:
    CallBuffer(std::size_t bytes, BufferKind kind)
        : bytes_(bytes),
          copies_(kind == BufferKind::rotated ? copies_of(bytes) : 1),
          buffers_(kind == BufferKind::fresh ? 0 : bytes * copies_) {
        if (kind == BufferKind::fresh) fresh_.emplace(bytes);
    }

    [[nodiscard]] std::byte* data() {  // the buffer that rotate() has selected
        return fresh_ ? fresh_->data() : buffers_.data() + current_ * bytes_;
    }
    void rotate() {
        if (fresh_) return fresh_->next();
        current_ = current_ + 1 < copies_ ? current_ + 1 : 0;
    }
    void clear() { std::fill(buffers_.begin(), buffers_.end(), std::byte{}); }
    template <class Write>
    void fill(Write write) {
        if (fresh_) return fresh_->for_each(write);
        for (std::size_t copy = 0; copy < copies_; ++copy) write(buffers_.data() + copy * bytes_);
    }
    [[nodiscard]] std::uint64_t calls_max() const {
        return fresh_ ? fresh_->calls_max() : lab::measuring::kCallsMax;
    }
    void supply(std::uint64_t calls) {
        if (fresh_) fresh_->supply(calls);
    }

  private:
    /// Returns the number of buffers: enough for more than 64 MiB in total, but at most 1000.
    [[nodiscard]] static std::size_t copies_of(std::size_t bytes) {
        constexpr std::size_t kTotalBytes = std::size_t{64} << 20;
        constexpr std::size_t kCopiesMax = 1000;
        return std::min(kTotalBytes / std::max<std::size_t>(bytes, 1) + 2, kCopiesMax);
    }

    std::size_t bytes_;
    std::size_t copies_;
    std::vector<std::byte> buffers_;  ///< reused or rotated buffers
    std::size_t current_ = 0;
    std::optional<lab::FreshBuffers> fresh_;
};

struct CallOptions {
    Collective collective = Collective::allreduce;
    Type type = Type::float64;
    Op op = Op::sum;
    Rank root = 0;
    BufferKind buffers = BufferKind::reused;
    bool uneven = false;  ///< blocks of calls with counts differ in size
};

/// Returns the facts of a call for its oracle. In alltoallv, the message from rank i to rank j has
/// the size of block (i + j) mod n, so all ranks send and receive equal amounts.
[[nodiscard]] inline oracle::CallFacts facts_of_call(Rank size, std::uint64_t bytes,
                                                     const CallOptions& options) {
    const auto& traits = collectives::traits_of(options.collective);
    const auto blocks = static_cast<std::uint32_t>(size);
    const oracle::Samples& samples = oracle::samples_of(options.type);
    const std::uint64_t count = bytes / samples.bytes;
    const lab::BlockSizes sizes{
        .elements = count * blocks, .blocks = blocks, .uneven = options.uneven};
    const bool alltoall = traits.contribution == collectives::Contribution::owner_own_block;
    return {
        .collective = options.collective,
        .samples = &samples,
        .op = options.op,
        .size = size,
        .root = traits.rooted() ? options.root : -1,
        .count = [=, counts = traits.has_counts()](Rank rank, std::uint32_t unit) {
            if (!counts) return count;
            return sizes.size(alltoall ? (static_cast<std::uint32_t>(rank) + unit) % blocks : unit);
        }};
}

/// Any collective with data. `bytes` is the mean size of a block, or the size of the buffer in
/// calls without blocks, so that allgather and allgatherv, for example, move equal amounts.
class CallSubject : public BenchJob {
  public:
    CallSubject(Team world, std::uint64_t bytes, const CallOptions& options)
        : BenchJob(world),
          oracle_(facts_of_call(world.size(), bytes, options), world.rank()),
          in_counts_(counts_of(oracle_.input())),
          out_counts_(counts_of(oracle_.output())),
          in_(oracle_.input_bytes(), options.buffers),
          out_(output_bytes(), options.buffers),
          call_(make_call(options)) {}

    [[nodiscard]] std::uint64_t calls_max() const {
        return std::min(in_.calls_max(), out_.calls_max());
    }
    void supply(std::uint64_t calls) {
        in_.supply(calls);
        out_.supply(calls);
    }
    void prepare(std::uint64_t batch) {
        out_.clear();
        in_.fill([&](std::byte* start) { oracle_.write(batch, start); });
    }
    void call() { world_.run(next()); }
    /// Starts the same call without waiting for it.
    [[nodiscard]] Request start() { return world_.start(next()); }
    [[nodiscard]] bool check(std::uint64_t batch) {
        return oracle_.is_expected(batch, is_broadcast() ? in_.data() : out_.data());
    }

  private:
    [[nodiscard]] const Call& next() {
        in_.rotate();
        out_.rotate();
        call_.in = in_.data();
        call_.out = is_broadcast() ? in_.data() : out_.data();
        return call_;
    }

    using Counts = std::vector<std::size_t>;

    [[nodiscard]] static Counts counts_of(const std::vector<oracle::SizedUnit>& units) {
        Counts counts;
        for (const oracle::SizedUnit& unit : units) counts.push_back(unit.count);
        return counts;
    }
    [[nodiscard]] bool is_broadcast() const {
        return oracle_.facts().collective == Collective::broadcast;
    }
    /// Returns the size of the output; 0 for a broadcast, which has one buffer. Rank 0 of an
    /// exclusive scan has no result, but must pass an output buffer, of the size of the input.
    [[nodiscard]] std::size_t output_bytes() const {
        if (is_broadcast()) return 0;
        const bool is_ignored = out_counts_.empty() && !oracle_.traits().rooted();
        return is_ignored ? oracle_.input_bytes() : oracle_.output_bytes();
    }
    [[nodiscard]] Call make_call(const CallOptions& options) const {
        const auto& traits = oracle_.traits();
        Call call{.collective = options.collective,
                  .type = options.type,
                  .op = options.op,
                  .root = oracle_.facts().root};
        if (!traits.has_counts()) call.count = oracle_.facts().count(0, 0);
        if (traits.has_input_counts()) call.in_blocks.counts = in_counts_;
        if (traits.has_output_counts()) call.out_blocks.counts = out_counts_;
        if (traits.has_counts() && traits.rooted())
            call.count = (traits.has_input_counts() ? out_counts_ : in_counts_).front();
        return call;
    }

    oracle::Oracle oracle_;
    Counts in_counts_;
    Counts out_counts_;

  protected:
    CallBuffer in_;
    CallBuffer out_;
    Call call_;
};

/// A CallSubject that calls a function of Team (allreduce, reduce, broadcast) instead of run().
template <Collective kCollective>
class FunctionSubject : public CallSubject {
  public:
    using CallSubject::CallSubject;
    void call() {
        in_.rotate();
        if constexpr (kCollective == Collective::broadcast)
            return world_.broadcast(in_.data(), call_.count, call_.type, call_.root);
        out_.rotate();
        if constexpr (kCollective == Collective::allreduce)
            world_.allreduce(in_.data(), out_.data(), call_.count, call_.type, call_.op);
        else
            world_.reduce(in_.data(), out_.data(), call_.count, call_.type, call_.op, call_.root);
    }
};

/// Makes each call of another subject `ns` nanoseconds longer on average, to test whether a
/// comparison detects the difference. The delay is a counting loop, because reading the clock takes
/// a tenth of the time of the fastest calls. One delay follows a group of calls and has the length
/// for all of them: a processor would execute a shorter one while it waits for a cache line.
template <class Subject>
class Delayed : public Subject {
  public:
    template <class... Arguments>
    explicit Delayed(double ns, Arguments&&... arguments)
        : Subject(std::forward<Arguments>(arguments)...),
          calls_per_delay_(
              static_cast<std::uint64_t>(std::clamp(std::ceil(kDelayLeastNs / ns), 1.0, 1e6))),
          calls_to_delay_(calls_per_delay_),
          delay_steps_(static_cast<std::uint64_t>(
              std::llround(ns * static_cast<double>(calls_per_delay_) / step_ns()))) {}

    void call() {
        Subject::call();
        if (--calls_to_delay_ != 0) return;
        calls_to_delay_ = calls_per_delay_;
        count_to(delay_steps_);
    }

  private:
    static constexpr double kDelayLeastNs = 2000;  ///< shortest delay

    static void count_to(std::uint64_t steps) {
        for (volatile std::uint64_t i = 0; i < steps;) i = i + 1;
    }
    /// Returns the time of one loop step in ns, by the fastest of 10 measurements. With a disturbed
    /// one, delays would be too short.
    static double step_ns() {
        constexpr std::uint64_t kSteps = 100'000;
        double quickest = std::numeric_limits<double>::infinity();
        for (int i = 0; i < 10; ++i) {
            const std::uint64_t begin = base::monotonic_ns();
            count_to(kSteps);
            quickest = std::min(quickest, static_cast<double>(base::monotonic_ns() - begin));
        }
        return std::max(quickest, 1.0) / kSteps;
    }

    std::uint64_t calls_per_delay_;
    std::uint64_t calls_to_delay_;  ///< number of calls until the next delay
    std::uint64_t delay_steps_;     ///< loop steps of a delay
};

/// A local copy by rank 0, as a reference; the other ranks do nothing.
class MemcpySubject : public BenchJob {
  public:
    MemcpySubject(Team world, std::uint64_t bytes) : BenchJob(world), from_(bytes), to_(bytes) {}

    void prepare(std::uint64_t batch) {
        std::ranges::fill(to_, std::byte{});
        std::ranges::fill(from_, static_cast<std::byte>(batch % 255 + 1));
    }
    void call() {
        if (world_.rank() == 0) std::memcpy(to_.data(), from_.data(), from_.size());
    }
    [[nodiscard]] bool check(std::uint64_t) { return world_.rank() != 0 || to_ == from_; }

  private:
    std::vector<std::byte> from_;
    std::vector<std::byte> to_;
};

}  // namespace weft::tools
