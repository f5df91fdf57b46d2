// SPDX-License-Identifier: BSD-3-Clause
// mpi_calls.hpp - the measured MPI calls, each with inputs and expected results.
//
// Idea     Inputs and expected results are from the oracle, as in `weft bench`. `bytes` is the
//          size of one block, or of the buffer if the collective has no blocks.
// Next     mpi_bench.cpp for the program.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "collectives/collective_traits.hpp"
#include "perf/peer/mpi_types.hpp"
#include "tools/lab/oracle/oracle.hpp"
#include "tools/measure/fresh_buffers.hpp"
#include "tools/measure/measuring.hpp"

namespace weft::peer {

/// Returns weft's names of the collectives in which all blocks have the same count.
inline std::vector<std::string> collective_names() {
    std::vector<std::string> names;
    for (const auto& traits : collectives::kCollectives)
        if (!traits.has_counts()) names.emplace_back(traits.name);
    return names;
}

/// A buffer with the alignment of `weft bench`, which is a page. If `fresh`, next() provides unused
/// memory for each call.
class Buffer {
  public:
    Buffer(std::size_t bytes, bool fresh)
        : bytes_(bytes),
          memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes / 4096 + 1) * 4096))) {
        if (!memory_) throw std::bad_alloc();
        if (fresh) fresh_.emplace(bytes);
        clear();
    }
    [[nodiscard]] std::byte* data() { return fresh_ ? fresh_->data() : memory_.get(); }
    /// Zeros the reused memory. supply() zeros fresh memory.
    void clear() { std::memset(memory_.get(), 0, bytes_); }
    void next() {
        if (fresh_) fresh_->next();
    }
    template <class Write>
    void fill(Write write) {
        if (fresh_) return fresh_->for_each(write);
        write(memory_.get());
    }
    [[nodiscard]] std::uint64_t calls_max() const {
        return fresh_ ? fresh_->calls_max() : lab::measuring::kCallsMax;
    }
    void supply(std::uint64_t calls) {
        if (fresh_) fresh_->supply(calls);
    }

  private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::size_t bytes_;
    std::unique_ptr<std::byte[], Free> memory_;
    std::optional<lab::FreshBuffers> fresh_;
};

/// Base of the measured subjects (measuring.hpp): rank, size, and communication of the loop.
class Job {
  public:
    Job() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

    [[nodiscard]] static std::uint64_t now_ns() { return base::monotonic_ns(); }
    static void synchronize() { MPI_Barrier(MPI_COMM_WORLD); }
    static void reduce_max(std::span<double> values) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                      MPI_MAX, MPI_COMM_WORLD);
    }

  private:
    int rank_ = 0;
    int size_ = 1;
};

class Barrier : public Job {
  public:
    void prepare(std::uint64_t) {}
    void call() { MPI_Barrier(MPI_COMM_WORLD); }
    /// Delays one rank and checks that no rank leaves before all ranks have entered. All ranks must
    /// be on one machine, because they compare their clocks.
    [[nodiscard]] bool check(std::uint64_t batch) {
        // The sleep gives other ranks time and processors to leave a faulty barrier.
        if (batch % static_cast<std::uint64_t>(size()) == static_cast<std::uint64_t>(rank()))
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        const auto entry = static_cast<double>(now_ns());
        call();
        const auto exit = static_cast<double>(now_ns());
        double bounds[2] = {entry, -exit};
        reduce_max(bounds);
        return bounds[0] <= -bounds[1];
    }
};

struct CallOptions {
    Collective collective = Collective::allreduce;
    Type type = Type::float64;
    Op op = Op::sum;
    int root = 0;
    bool fresh = false;  ///< each call uses buffers that no call has used before
};

class Call : public Job {
  public:
    Call(std::size_t bytes, const CallOptions& options)
        : options_(options),
          type_(mpi_type(options.type)),
          op_(mpi_op(options.op)),
          oracle_(facts_of(bytes, options), rank()),
          count_(static_cast<int>(oracle_.facts().count(0, 0))),
          in_(oracle_.input_bytes(), options.fresh),
          out_(std::max(oracle_.output_bytes(), oracle_.input_bytes()), options.fresh) {}

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
    void call() {
        in_.next();
        out_.next();
        void* const in = in_.data();
        void* const out = out_.data();
        const int count = count_;
        const int root = options_.root;
        const MPI_Comm world = MPI_COMM_WORLD;
        switch (options_.collective) {
            case Collective::broadcast:
                MPI_Bcast(in, count, type_, root, world);
                break;
            case Collective::reduce:
                MPI_Reduce(in, out, count, type_, op_, root, world);
                break;
            case Collective::allreduce:
                MPI_Allreduce(in, out, count, type_, op_, world);
                break;
            case Collective::gather:
                MPI_Gather(in, count, type_, out, count, type_, root, world);
                break;
            case Collective::scatter:
                MPI_Scatter(in, count, type_, out, count, type_, root, world);
                break;
            case Collective::allgather:
                MPI_Allgather(in, count, type_, out, count, type_, world);
                break;
            case Collective::alltoall:
                MPI_Alltoall(in, count, type_, out, count, type_, world);
                break;
            case Collective::reduce_scatter:
                MPI_Reduce_scatter_block(in, out, count, type_, op_, world);
                break;
            case Collective::scan:
                MPI_Scan(in, out, count, type_, op_, world);
                break;
            case Collective::exscan:
                MPI_Exscan(in, out, count, type_, op_, world);
                break;
            default:  // class Barrier measures the barrier; mpi_bench rejects v-collectives
                break;
        }
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        const bool one_buffer = options_.collective == Collective::broadcast;
        return oracle_.is_expected(batch, one_buffer ? in_.data() : out_.data());
    }

  private:
    [[nodiscard]] oracle::CallFacts facts_of(std::size_t bytes, const CallOptions& options) const {
        const oracle::Samples& samples = oracle::samples_of(options.type);
        return {.collective = options.collective,
                .samples = &samples,
                .op = options.op,
                .size = size(),
                .root = options.root,
                .count = [count = bytes / samples.bytes](Rank, std::uint32_t) { return count; }};
    }

    CallOptions options_;
    MPI_Datatype type_;
    MPI_Op op_;
    oracle::Oracle oracle_;
    int count_;
    Buffer in_;
    Buffer out_;
};

}  // namespace weft::peer
