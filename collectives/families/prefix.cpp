// SPDX-License-Identifier: BSD-3-Clause
// prefix.cpp - scan and exscan by puts: each rank gets the reduction over all ranks before it, with
// its own value (scan) or without (exscan).
//
// Idea     linear: each rank receives the reduction over the ranks before it from the
//          previous rank, adds its own value and puts the sum to the next rank. Long vectors
//          are cut into pieces.
//          recursive-doubling: in step k rank r puts the reduction over the last 2^k ranks, itself
//          included, to rank r + 2^k, which combines it before its own partial result.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.4
//          (linear pipeline); Hillis and Steele, Data parallel algorithms; Traeff,
//          exclusive scan algorithms.
// Rounds   linear: n - 1 for one piece; s pieces overlap. Messages: s (n - 1), and a credit for all
//          but two pieces of a rank. recursive-doubling: ceil(log2 n). Messages: n - 2^k in step k.
// Bytes    linear: every rank but the last sends one vector; every rank but the first (exscan: and
//          the last) reduces one. recursive-doubling: a rank sends and reduces at most ceil(log2 n)
//          vectors (exscan: reduces at most twice that number less one).
// Memory   linear: one slot with two copies, one credit. recursive-doubling: a slot for each step;
//          with segments, two copies and a credit for each step. exscan: one scratch vector. With
//          into=vector: no slots; if input and output are one buffer, one more scratch vector.
// Good for linear: long vectors, since no rank sends or reduces more than one. The default is
//          pieces of about 8 KiB. recursive-doubling: short vectors. linear:into=vector: between
//          nodes, if one put of all bytes takes less time than pieces copied out of slots.
// Holds    Not synchronizing. Combines in rank order. Input and output may be the same memory: an
//          exscan writes the output only after all reads of the input.
#include <bit>

#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

/// Payloads are delivered directly into the output. In place, they overwrite the input, so the rank
/// adds a copy of its input. If input and output differ, run/bind replaces this copy by the input.
template <bool kExclusive>
void write_linear_directly(BlockWriter& writer, const GenerateRequest& request) {
    constexpr std::uint32_t kData = 0;
    constexpr std::uint32_t kExposed = 1;
    const Rank rank = request.rank;
    const bool last = rank + 1 == request.size;
    const bool adds = rank > 0 && !(kExclusive && last);
    const plan::Block received = writer.output(0);
    plan::Block sum = writer.input(0);
    if (adds) writer->copy(writer.scratch(0, 0), writer.input(0));
    if (rank > 0) {
        writer->expose(rank - 1, kExposed, received, plan::kWritten);
        writer->wait(rank - 1, kData);
    }
    if (adds) {
        sum = kExclusive ? writer.scratch(1, 0) : received;
        writer->reduce(sum, {received, writer.scratch(0, 0)});
    }
    if (!last) {
        writer->wait(rank + 1, kExposed);
        put_into_place(writer, rank + 1, kData, kExposed, sum);
    }
    if (rank == 0 && !kExclusive) writer->copy(received, writer.input(0));
    writer->reserve_slots(request.size == 1 ? 0 : kExposed + 1);
}

template <bool kExclusive>
void write_linear(BlockWriter& writer, const GenerateRequest& request, Delivery into) {
    if (into == Delivery::direct) return write_linear_directly<kExclusive>(writer, request);
    constexpr std::uint32_t kData = 0;
    constexpr std::uint32_t kCredit = 1;
    const Rank rank = request.rank;
    const bool last = rank + 1 == request.size;
    const plan::Block received = writer.slot(kData, 0);
    plan::Block sum = kExclusive ? writer.scratch(0, 0) : writer.output(0);
    if (rank > 0) {
        writer->wait(rank - 1, kData);
        if (!kExclusive || !last) writer->reduce(sum, {received, writer.input(0)});
        if (!kExclusive) writer.give_credit(rank - 1, kCredit);
    } else if (kExclusive) {
        sum = writer.input(0);
    } else {
        writer->copy(sum, writer.input(0));
    }
    if (!last) {
        writer.await_credit(rank + 1, kCredit);
        writer->put(rank + 1, kData, sum);
    }
    // The next rank is served before this rank stores its own result.
    if (kExclusive && rank > 0) {
        writer->copy(writer.output(0), received);
        writer.give_credit(rank - 1, kCredit);
    }
    if (request.size == 1) return;
    writer->reserve_capacity(kData, 1);
    writer.reserve_credits(kCredit, 1);
}

/// Partial results of a rank in recursive doubling: the reduction over the ranks before it, with
/// its own value and, for an exscan, also without.
template <bool kExclusive>
class DoublingPrefix {
  public:
    explicit DoublingPrefix(BlockWriter& writer) : writer_(writer), sum_(writer.input(0)) {
        if (kExclusive) return;
        writer_->copy(writer.output(0), sum_);
        sum_ = writer.output(0);
    }

    [[nodiscard]] const plan::Block& sum() const { return sum_; }

    /// Combines a received value. `sent`: a put may still read the sum. `sends_again`: a later step
    /// puts the sum.
    void add(const plan::Block& received, bool sent, bool sends_again) {
        if constexpr (!kExclusive) {
            if (sent) writer_->flush();
            writer_->reduce(sum_, {received, sum_});
            return;
        }
        writer_->flush();
        if (sends_again) {
            writer_->reduce(writer_.scratch(0, 0), {received, sum_});
            sum_ = writer_.scratch(0, 0);
        }
        if (has_output_) {
            writer_->reduce(writer_.output(0), {received, writer_.output(0)});
        } else {
            writer_->copy(writer_.output(0), received);
        }
        has_output_ = true;
    }

  private:
    BlockWriter& writer_;
    plan::Block sum_;
    bool has_output_ = false;
};

template <bool kExclusive>
void write_doubling(BlockWriter& writer, const GenerateRequest& request) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const auto steps = as_u32(std::bit_width(as_u32(size) - 1));
    DoublingPrefix<kExclusive> prefix(writer);
    for (std::uint32_t step = 0; step < steps; ++step) {
        const Rank distance = Rank{1} << step;
        const bool sends = rank + distance < size;
        if (sends) {
            writer.await_credit(rank + distance, steps + step);
            writer->put(rank + distance, step, prefix.sum());
        }
        if (rank < distance) continue;
        writer->wait(rank - distance, step);
        prefix.add(writer.slot(step, 0), sends, std::int64_t{rank} + 2 * distance < size);
        writer.give_credit(rank - distance, steps + step);
    }
    for (std::uint32_t step = 0; step < steps; ++step) writer->reserve_capacity(step, 1);
    writer.reserve_credits(steps, steps);
}

template <bool kExclusive>
Algorithm linear() {
    const std::string_view collective = kExclusive ? "exscan" : "scan";
    return {
        .collective = collective,
        .name = "linear",
        .summary = "each rank adds its value to the previous rank's result, piece by piece",
        .source = "Hoefler and Moor, section 3.1.4",
        .parameters = {{"segments", "by size", kSegmentsHelp, "2,5"}, kIntoParameter},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = by_blocks({.collective = collective, .blocks = 1, .in_pieces = true},
                              write_linear<kExclusive>),
    };
}

template <bool kExclusive>
Algorithm doubling() {
    const std::string_view collective = kExclusive ? "exscan" : "scan";
    return {
        .collective = collective,
        .name = "recursive-doubling",
        .summary = "ranks add the value of the rank 2^k before, k = 0, 1, ..",
        .source = "Hillis and Steele, Data parallel algorithms",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true},
        .generate = by_blocks({.collective = collective, .blocks = 1}, write_doubling<kExclusive>),
    };
}

}  // namespace

Algorithm scan_linear() {
    return linear<false>();
}
Algorithm scan_recursive_doubling() {
    return doubling<false>();
}
Algorithm exscan_linear() {
    return linear<true>();
}
Algorithm exscan_recursive_doubling() {
    return doubling<true>();
}

}  // namespace weft::collectives
