// SPDX-License-Identifier: BSD-3-Clause
// range_exchange.hpp - recursive halving of a buffer among 2^k ranks, and its reverse.
//
// Idea     Ranks have numbers. In step k, numbers w and w xor 2^k halve their common range: each
//          sends the half that the other keeps, and combines the half that it keeps itself. Step 0
//          has the nearest numbers and the longest messages. Afterwards the steps run in reverse
//          order and return the ranges to all numbers (doubling) or to one number (gather).
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.5.
// Holds    Combines in the order of numbers. A number completes after all numbers have entered.
#pragma once

#include <bit>
#include <functional>

#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

/// Blocks of a buffer, first .. first + count - 1.
struct BlockRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// Returns the part of `all` blocks (a power of two) that is left after `steps` halvings. Step k
/// keeps the lower half if bit k of `number` is 0, and else the upper half.
[[nodiscard]] inline BlockRange halved(std::uint32_t all, std::uint32_t number,
                                       std::uint32_t steps) {
    BlockRange range{0, all};
    for (std::uint32_t step = 0; step < steps; ++step) {
        range.count /= 2;
        if ((number >> step & 1) != 0) range.first += range.count;
    }
    return range;
}

/// Flush::yes: earlier puts may still read the memory that a step overwrites.
enum class Flush : std::uint8_t { no, yes };

/// Partial result of a rank: its input before the first step, later a range of output or scratch.
class PartialResult {
  public:
    enum class Kept : std::uint8_t { output, scratch };
    enum class From : std::uint8_t { before, after };

    PartialResult(BlockWriter& writer, Kept kept) : writer_(writer), kept_(kept) {}

    [[nodiscard]] plan::Block kept(BlockRange range) const {
        return kept_ == Kept::output ? writer_.output(range.first, range.count)
                                     : writer_.scratch(0, range.first, range.count);
    }
    [[nodiscard]] plan::Block value(BlockRange range) const {
        return combined_ ? kept(range) : writer_.input(range.first, range.count);
    }

    /// Combines the range with a peer's payload. `from`: the peer's values are before or after all
    /// values combined so far.
    void combine(BlockRange range, Rank peer, std::uint32_t number, From from) {
        writer_->wait(peer, number);
        const plan::Block received = writer_.slot(number, range.first, range.count);
        const plan::Block own = value(range);
        writer_->reduce(kept(range), {from == From::before ? received : own,
                                      from == From::before ? own : received});
        combined_ = true;
    }
    /// Replaces the range by a peer's finished result.
    void take(BlockRange range, Rank peer, std::uint32_t number, Flush flush = Flush::no) {
        writer_->wait(peer, number);
        if (flush == Flush::yes) writer_->flush();
        writer_->copy(kept(range), writer_.slot(number, range.first, range.count));
        combined_ = true;
    }

  private:
    BlockWriter& writer_;
    Kept kept_;
    bool combined_ = false;
};

/// Maps ranks to numbers. The first ranks form pairs, which share a number.
struct Folding {
    Folding(Rank ranks, std::uint32_t count) : numbers(count), pairs(as_u32(ranks) - count) {}

    std::uint32_t numbers;  ///< how many numbers there are
    std::uint32_t pairs;    ///< the ranks 2i and 2i + 1 are a pair for i < pairs

    [[nodiscard]] bool in_pair(Rank rank) const { return as_u32(rank) < 2 * pairs; }
    [[nodiscard]] std::uint32_t number_of(Rank rank) const {
        return in_pair(rank) ? as_u32(rank) / 2 : as_u32(rank) - pairs;
    }
    /// Returns the rank with this number; the first rank of a pair.
    [[nodiscard]] Rank first_of(std::uint32_t number) const {
        return static_cast<Rank>(number < pairs ? 2 * number : number + pairs);
    }
};

/// Put numbers of a pair: for the halves that its ranks exchange, and for the reduced half that one
/// rank sends to the other.
struct FoldNumbers {
    std::uint32_t fold = 0;
    std::uint32_t hand_over = 1;
};
/// Folds a pair: each rank combines half of the buffer's `blocks` blocks. Then the rank that does
/// not represent the pair sends its half to the other.
inline void fold_pair(BlockWriter& writer, PartialResult& partial, Rank rank, std::uint32_t blocks,
                      FoldNumbers numbers, bool represents) {
    const bool even = rank % 2 == 0;
    const Rank other = even ? rank + 1 : rank - 1;
    const BlockRange lower{0, blocks / 2};
    const BlockRange upper{lower.count, lower.count};
    const BlockRange mine = even ? lower : upper;
    const BlockRange theirs = even ? upper : lower;
    writer->put(other, numbers.fold, partial.value(theirs));
    partial.combine(mine, other, numbers.fold,
                    even ? PartialResult::From::after : PartialResult::From::before);
    if (represents)
        partial.take(theirs, other, numbers.hand_over, Flush::yes);
    else
        writer->put(other, numbers.hand_over, partial.kept(mine));
}

/// Steps of a rank with a number. `rank_of` maps a number to its rank.
class RangeExchange {
  public:
    struct Position {
        std::uint32_t number = 0;
        std::uint32_t steps = 0;
        std::uint32_t blocks = 1;  ///< blocks of the buffer; a power of two, at least 2^steps
    };

    RangeExchange(BlockWriter& writer, PartialResult& partial, Position position,
                  std::function<Rank(std::uint32_t)> rank_of)
        : writer_(writer), partial_(partial), position_(position), rank_of_(std::move(rank_of)) {}

    // halve(), double_up() and gather() use one put number for each step, from `first` on.
    void halve(std::uint32_t first) {
        for (std::uint32_t step = 0; step < position_.steps; ++step) {
            const std::uint32_t other = position_.number ^ (1U << step);
            writer_->put(rank_of_(other), first + step, partial_.value(range(other, step + 1)));
            partial_.combine(range(position_.number, step + 1), rank_of_(other), first + step,
                             other < position_.number ? PartialResult::From::before
                                                      : PartialResult::From::after);
        }
    }
    void double_up(std::uint32_t first) {
        for (std::uint32_t step = position_.steps; step-- > 0;) {
            const std::uint32_t other = position_.number ^ (1U << step);
            writer_->put(rank_of_(other), first + step,
                         partial_.kept(range(position_.number, step + 1)));
            partial_.take(range(other, step + 1), rank_of_(other), first + step);
        }
    }
    /// Collects all ranges at number `to`. In each step, the numbers with ranges form pairs. The
    /// number that differs from `to` in the step's bit puts its range to the other number.
    void gather(std::uint32_t to, std::uint32_t first) {
        for (std::uint32_t step = position_.steps; step-- > 0;) {
            const std::uint32_t other = position_.number ^ (1U << step);
            if (((position_.number ^ to) >> step & 1) != 0)
                return writer_->put(rank_of_(other), first + step,
                                    partial_.kept(range(position_.number, step + 1)));
            partial_.take(range(other, step + 1), rank_of_(other), first + step,
                          step + 1 == position_.steps ? Flush::yes : Flush::no);
        }
    }

    /// Reserves capacity, on all ranks, for the puts of halve(), double_up() and gather().
    static void reserve(BlockWriter& writer, std::uint32_t first, std::uint32_t steps,
                        std::uint32_t blocks) {
        for (std::uint32_t step = 0; step < steps; ++step)
            writer->reserve_capacity(first + step, blocks >> (step + 1));
    }

  private:
    [[nodiscard]] BlockRange range(std::uint32_t number, std::uint32_t steps) const {
        return halved(position_.blocks, number, steps);
    }

    BlockWriter& writer_;
    PartialResult& partial_;
    Position position_;
    std::function<Rank(std::uint32_t)> rank_of_;
};

/// Returns the entry of an algorithm that cuts the buffer into bit_floor(ranks) blocks. A reduce
/// synchronizes only if the number of ranks is a power of two.
[[nodiscard]] inline Algorithm range_exchange_entry(std::string_view collective,
                                                    std::string_view name, std::string_view summary,
                                                    std::string_view source, WriteSteps write) {
    const bool synchronizing = !find_collective(collective)->rooted();
    return {.collective = collective,
            .name = name,
            .summary = summary,
            .source = source,
            .parameters = {kTriedSegments},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = synchronizing},
            .generate = [=](const GenerateRequest& request) {
                const auto ranks = as_u32(request.size);
                return program_by_blocks({.blocks = std::bit_floor(ranks),
                                          .lane_depth = synchronizing ? 1U : BlockWriter::kDepth,
                                          .synchronizing = std::has_single_bit(ranks)},
                                         request, write);
            }};
}

}  // namespace weft::collectives
