// SPDX-License-Identifier: BSD-3-Clause
// scatter_allgather.cpp - broadcast by scattering blocks and passing them around a ring.
//
// Idea     The root scatters the vector along a binomial tree, so that each rank has the block of its number
//          (and those of its subtree); then all blocks go around a ring. Ranks are counted from the root.
// Source   Barnett et al. and van de Geijn, as in Thakur, Rabenseifner and Gropp, Optimization of collective
//          communication operations in MPICH, section 4.3.
// Rounds   n - 1, and as many as any number below n has bits: ceil(log2 n) at most.
//          Messages: n - 1 to scatter, n (n - 1) around the ring.
// Bytes    Of m: each rank sends m (1 - 1/n) around the ring; the scatter moves m/n times the bits of all
//          numbers below n, most of it from the root.
// Memory   n - 1 slots of one block, one for a subtree's; no scratch.
// Good for Long vectors on few ranks: about 2m for each rank, whatever n.
// Holds    Synchronizing: what has gone around the ring has passed everybody.
#include "collectives/blocks.hpp"
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/patterns/range_tree.hpp"

namespace weft::collectives {

namespace {

/// Ranks counted from the root; block v belongs to number v.
class ScatterAllgather {
  public:
    ScatterAllgather(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          size_(request.size),
          root_(request.root),
          own_(request.rank < root_ ? request.rank - root_ + size_ : request.rank - root_),
          tree_(patterns::knomial_tree(size_, 2)),
          node_(patterns::find_node(tree_, size_, own_)) {}

    void write() {
        scatter();
        if (size_ > 1) pass_around();
        for (const patterns::Branch& branch : tree_.branches(size_))
            writer_->reserve_capacity(kScatter, static_cast<std::uint32_t>(branch.size));
        for (std::uint32_t step = 0; step + 1 < static_cast<std::uint32_t>(size_); ++step)
            writer_->reserve_capacity(kFirstStep + step, 1);
    }

  private:
    static constexpr std::uint32_t kScatter = 0;
    static constexpr std::uint32_t kFirstStep = 1;

    void scatter() {
        const auto first = static_cast<std::uint32_t>(own_);
        const auto count = static_cast<std::uint32_t>(node_.size);
        if (own_ == 0) {
            writer_->copy(writer_.output(0, count), writer_.input(0, count));
        } else {
            writer_->wait(real(node_.parent), kScatter);
            writer_->copy(writer_.output(first, count), writer_.slot(kScatter, first, count));
        }
        for (const patterns::Branch& branch : node_.branches)
            writer_->put(real(own_ + branch.distance), kScatter,
                         writer_.output(static_cast<std::uint32_t>(own_ + branch.distance),
                                        static_cast<std::uint32_t>(branch.size)));
    }

    void pass_around() {
        const auto block = [&](Rank back) { return (own_ + size_ - back) % size_; };
        for (Rank step = 0; step < size_ - 1; ++step) {
            const std::uint32_t number = kFirstStep + static_cast<std::uint32_t>(step);
            writer_->put(real(own_ + 1), number,
                         writer_.output(static_cast<std::uint32_t>(block(step))));
            writer_->wait(real(own_ + size_ - 1), number);
            const Rank came = block(step + 1);
            if (came >= own_ && came < own_ + node_.size) continue;  // it was scattered here, too
            writer_->copy(writer_.output(static_cast<std::uint32_t>(came)),
                          writer_.slot(number, static_cast<std::uint32_t>(came)));
        }
    }

    [[nodiscard]] Rank real(Rank number) const {
        return static_cast<Rank>((std::int64_t{number} + root_) % size_);
    }

    BlockWriter& writer_;
    Rank size_;
    Rank root_;
    Rank own_;
    patterns::RangeTree tree_;
    patterns::TreeNode node_;
};

base::Result<plan::Program> generate_scatter_allgather(const AlgorithmSpec& spec,
                                                       const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("broadcast", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.synchronizing = true;
    BlockWriter writer(std::move(header), static_cast<std::uint32_t>(request.size), *segments);
    ScatterAllgather(writer, request).write();
    return std::move(writer).finish();
}

}  // namespace

Algorithm broadcast_scatter_allgather() {
    return {
        .collective = "broadcast",
        .name = "scatter-allgather",
        .summary = "blocks are scattered along a binomial tree, then passed around a ring",
        .source = "van de Geijn; Thakur, Rabenseifner and Gropp, section 4.3",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .rooted = true},
        .generate = &generate_scatter_allgather,
    };
}

}  // namespace weft::collectives
