// SPDX-License-Identifier: BSD-3-Clause
// mpi_calls.hpp - the calls that the peer times, made through MPI, each with inputs and expected results.
//
// Idea     Inputs and results are those of `weft bench`, from lab/measure/sample_elements.hpp; bytes are those of one
//          block (of the vector, where there are no blocks), as there.
// Holds    One subject for all collectives: what differs is a switch over constants, a nanosecond or less.
// Next     mpi_bench.cpp for the program.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "base/clock.hpp"
#include "lab/measure/sample_elements.hpp"
#include "perf/peer/mpi_types.hpp"

namespace weft::peer {

enum class Collective : std::uint8_t {
    barrier,
    broadcast,
    reduce,
    allreduce,
    gather,
    scatter,
    allgather,
    alltoall,
    reduce_scatter,
    scan,
    exscan
};
inline constexpr std::array<std::string_view, 11> kCollectives = {
    "barrier",   "broadcast", "reduce",         "allreduce", "gather", "scatter",
    "allgather", "alltoall",  "reduce_scatter", "scan",      "exscan"};

inline Collective collective_named(std::string_view name) {
    return static_cast<Collective>(std::ranges::find(kCollectives, name) - kCollectives.begin());
}
inline bool has_operation(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce ||
           collective >= Collective::reduce_scatter;
}

/// Page-aligned bytes: no side shall lose for its buffers' alignment.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes)
        : bytes_(bytes),
          memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes / 4096 + 1) * 4096))) {
        if (!memory_) throw std::bad_alloc();
        clear();
    }
    [[nodiscard]] std::byte* data() { return memory_.get(); }
    void clear() { std::memset(memory_.get(), 0, bytes_); }

  private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::size_t bytes_;
    std::unique_ptr<std::byte[], Free> memory_;
};

/// What the subjects share: how ranks meet and agree.
class Job {
  public:
    Job() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

    [[nodiscard]] static std::uint64_t now_ns() { return base::monotonic_ns(); }
    static void align() { MPI_Barrier(MPI_COMM_WORLD); }
    static void largest(std::span<double> values) {
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
    /// One rank comes late: nobody may leave before it has come. All ranks are on one machine,
    /// whose clock they share.
    [[nodiscard]] bool check(std::uint64_t batch) {
        const std::uint64_t begin = now_ns();
        if (batch % static_cast<std::uint64_t>(size()) == static_cast<std::uint64_t>(rank()))
            while (now_ns() < begin + 50'000) continue;
        const auto entry = static_cast<double>(now_ns());
        call();
        const auto exit = static_cast<double>(now_ns());
        double bounds[2] = {entry, -exit};
        largest(bounds);
        return bounds[0] <= -bounds[1];
    }
};

struct CallOptions {
    Collective collective = Collective::allreduce;
    Type type = Type::float64;
    Op op = Op::sum;
    int root = 0;
};

class Call : public Job {
  public:
    Call(std::size_t bytes, const CallOptions& options)
        : elements_(lab::sample_elements(options.type)),
          options_(options),
          type_(mpi_type(options.type)),
          op_(mpi_op(options.op)),
          count_(bytes / elements_.bytes),
          in_(bytes * (has_blocks_in() ? ranks() : 1)),
          out_(bytes * (has_blocks_out() ? ranks() : 1)) {}

    void prepare(std::uint64_t batch) {
        in_.clear();
        out_.clear();
        if (is_broadcast() && rank() != options_.root) return;
        const std::size_t count = has_blocks_in() ? count_ * ranks() : count_;
        elements_.write(in_.data(), {rank(), 0, count, batch});
    }
    void call() {
        void* const in = in_.data();
        void* const out = out_.data();
        const int count = static_cast<int>(count_);
        const int root = options_.root;
        const MPI_Comm world = MPI_COMM_WORLD;
        switch (options_.collective) {
            case Collective::barrier:
                MPI_Barrier(world);
                break;
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
        }
    }
    [[nodiscard]] bool check(std::uint64_t batch) {
        const std::size_t count = has_blocks_out() ? count_ * ranks() : count_;
        const std::byte* const found = is_broadcast() ? in_.data() : out_.data();
        if (!has_result()) return true;
        for (std::size_t first = 0; first < count;) {
            // A tile lies within one block.
            const std::size_t tile = std::min(kTile, count_ - first % count_);
            std::byte expected[kTile * kElementMax] = {};
            expect(expected, first, tile, batch);
            if (!elements_.equal(found + first * elements_.bytes, expected, tile)) return false;
            first += tile;
        }
        return true;
    }

  private:
    static constexpr std::size_t kTile = 64;
    static constexpr std::size_t kElementMax = 32;

    [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(size()); }
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
    /// What MPI leaves in the output elsewhere is not defined.
    [[nodiscard]] bool has_result() const {
        const bool at_root = rank() == options_.root;
        if (options_.collective == Collective::reduce || options_.collective == Collective::gather)
            return at_root;
        return options_.collective != Collective::exscan || rank() > 0;
    }

    void expect(std::byte* to, std::size_t first, std::size_t tile, std::uint64_t batch) const {
        const std::size_t own = static_cast<std::size_t>(rank()) * count_;
        const auto block = static_cast<Rank>(first / count_);
        switch (options_.collective) {
            case Collective::broadcast:
                return elements_.write(to, {options_.root, first, tile, batch});
            case Collective::gather:
            case Collective::allgather:
                return elements_.write(to, {block, first % count_, tile, batch});
            case Collective::scatter:
                return elements_.write(to, {options_.root, own + first, tile, batch});
            case Collective::alltoall:
                return elements_.write(to, {block, own + first % count_, tile, batch});
            case Collective::reduce_scatter:
                return fold(to, size(), {0, own + first, tile, batch});
            case Collective::scan:
                return fold(to, rank() + 1, {0, first, tile, batch});
            case Collective::exscan:
                return fold(to, rank(), {0, first, tile, batch});
            default:
                return fold(to, size(), {0, first, tile, batch});
        }
    }
    /// Over the first `count` ranks.
    void fold(std::byte* to, int count, lab::SampleRange range) const {
        elements_.write(to, range);
        for (range.rank = 1; range.rank < count; ++range.rank) {
            std::byte other[kTile * kElementMax];
            elements_.write(other, range);
            elements_.fold(options_.op, to, other, range.count);
        }
    }

    const lab::SampleElements& elements_;
    CallOptions options_;
    MPI_Datatype type_;
    MPI_Op op_;
    std::size_t count_;
    Buffer in_;
    Buffer out_;
};

}  // namespace weft::peer
