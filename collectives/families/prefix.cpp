// SPDX-License-Identifier: BSD-3-Clause
// prefix.cpp - scan and exscan by puts: each rank gets the reduction over all ranks before it, with
// its own value (scan) or without (exscan).
//
// Idea     linear: each rank adds its own value to the reduction that it receives from the previous
//          rank, and puts the sum to the next rank. Long buffers are cut into pieces.
//          recursive-doubling: in step k rank r puts the reduction over the last 2^k ranks, itself
//          included, to rank r + 2^k, which combines it before its own partial result.
//          doubling-123: distances are 1, 2, 3, 6, 12, ... A rank combines the values before its
//          own and puts the result. Step 0 puts only the rank's own value, and step 1 puts the sum
//          with its own value.
// Source   Hoefler and Moor, Energy, Memory, and Runtime Tradeoffs, section 3.1.4; Hillis and
//          Steele, Data parallel algorithms; Traeff, Exclusive scan by 123-doubling.
// Rounds   linear: n - 1 for one piece; s pieces overlap. Messages: s (n - 1), and a credit for all
//          but two pieces of a rank. recursive-doubling: ceil(log2 n). Messages: n - 2^k in step k.
//          doubling-123, n > 2: ceil(log2(4/3 (n - 1))). Messages: n - 1, n - 2, then n - 1 - d
//          over distance d.
// Bytes    linear: every rank but the last sends one buffer; every rank but the first (exscan: and
//          the last) reduces one. recursive-doubling: a rank sends and reduces at most ceil(log2 n)
//          buffers (exscan: reduces at most twice that number less one). doubling-123: a rank
//          sends and reduces at most one buffer in each step (scan: reduces one more at the end).
// Memory   A slot for each step (linear: one); with segments, two copies and a credit for each.
//          exscan: one scratch buffer (doubling-123 as a scan: two). With into=vector: no slots; if
//          input and output are one buffer, one more scratch buffer.
// Good for linear: long buffers, in pieces of about 8 KiB; with into=vector between nodes, if one
//          put of all bytes takes less time than pieces copied out of slots. recursive-doubling:
//          short buffers. doubling-123: exscans of medium buffers, with half the reductions.
// Holds    Input and output may be the same memory: an exscan writes the output only after all
//          reads of the input.
#include <algorithm>
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
        if (has_output_)
            writer_->reduce(writer_.output(0), {received, writer_.output(0)});
        else
            writer_->copy(writer_.output(0), received);
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
    writer->reserve_capacities(0, steps, 1);
    writer.reserve_credits(steps, steps);
}

/// `before` is the reduction over the ranks before this one whose values have arrived.
template <bool kExclusive>
void write_123(BlockWriter& writer, const GenerateRequest& request) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const plan::Block own = writer.input(0);
    const plan::Block with_own = writer.scratch(0, 0);
    const plan::Block before = kExclusive ? writer.output(0) : writer.scratch(1, 0);
    std::vector<Rank> distances;
    for (Rank covered = 0; covered < size - 1; covered += distances.back())
        distances.push_back(covered == 1 ? 2 : std::max(covered, 1));
    const auto steps = as_u32(std::ssize(distances));
    const auto receives = [&, rank = rank](std::uint32_t step) {
        return rank - distances[step] >= (step > 1 ? 1 : 0);  // rank 0 has only its own value
    };
    const auto sends = [&, rank = rank, size = size](std::uint32_t step) {
        return rank >= (step > 1 ? 1 : 0) && rank + distances[step] < size;
    };
    bool finished = kExclusive;
    for (std::uint32_t step = 0; step < steps; ++step) {
        const Rank distance = distances[step];
        if (sends(step)) {
            writer.await_credit(rank + distance, steps + step);
            const plan::Block& partial = step > 1 ? before : with_own;
            writer->put(rank + distance, step, step == 0 || rank == 0 ? own : partial);
        }
        if (!receives(step)) continue;
        std::vector<plan::Block> operands{writer.slot(step, 0)};
        writer->wait(rank - distance, step);
        if (step == 0 && rank + 2 < size) writer->reduce(with_own, {operands.front(), own});
        if (step > 0) operands.push_back(before);
        bool is_needed = kExclusive;  // a later step uses `before`
        for (std::uint32_t later = step + 1; later < steps; ++later)
            is_needed = is_needed || receives(later) || (later > 1 && sends(later));
        finished = finished || !is_needed;
        if (!is_needed) operands.push_back(own);
        if (step != 1 || !is_needed) writer->flush();  // puts may read the input, or `before`
        writer.combine(is_needed ? before : writer.output(0), operands);
        writer.give_credit(rank - distance, steps + step);
    }
    writer->reserve_capacities(0, steps, 1);
    writer.reserve_credits(steps, steps);
    if (finished) return;
    writer->flush();
    writer.combine(writer.output(0), rank == 0 ? std::vector{own} : std::vector{before, own});
}

template <bool kExclusive>
Algorithm entry(std::string_view name) {
    Algorithm algorithm{.collective = kExclusive ? "exscan" : "scan",
                        .name = name,
                        .parameters = {kTriedSegments},
                        .properties = {.ordered = true, .bit_identical = true}};
    if (name == "linear") {
        algorithm.summary =
            "each rank adds its value to the previous rank's result, piece by piece";
        algorithm.source = "Hoefler and Moor, section 3.1.4";
        algorithm.parameters = {kSegmentsBySize, kIntoParameter};
        algorithm.generate = by_blocks({.blocks = 1, .in_pieces = true}, write_linear<kExclusive>);
    } else if (name == "recursive-doubling") {
        algorithm.summary = "ranks add the value of the rank 2^k before, k = 0, 1, ..";
        algorithm.source = "Hillis and Steele, Data parallel algorithms";
        algorithm.generate = by_blocks({.blocks = 1}, write_doubling<kExclusive>);
    } else {
        algorithm.summary = "ranks add the value of the rank 1, 2, 3, 6, 12, .. before";
        algorithm.source = "Traeff, Exclusive scan by 123-doubling";
        algorithm.generate = by_blocks({.blocks = 1}, write_123<kExclusive>);
    }
    return algorithm;
}

}  // namespace

Algorithm scan_prefix(std::string_view name) {
    return entry<false>(name);
}
Algorithm exscan_prefix(std::string_view name) {
    return entry<true>(name);
}

}  // namespace weft::collectives
