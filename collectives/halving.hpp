// SPDX-License-Identifier: BSD-3-Clause
// halving.hpp - recursive halving of a vector among 2^k ranks, and the steps that undo it.
//
// Idea     Ranks have numbers. In step k, numbers w and w xor 2^k halve their common range: each
//          sends the half that the other keeps, and combines the half that it keeps itself. The
//          nearest numbers and the longest messages are first. Afterwards the ranges are sent back
//          the same way to all numbers (doubling), or to one number (gather). If the number of
//          ranks is not a power of two, pairs of ranks first fold into one number.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.5.
// Holds    Combines in the order of numbers. When a number completes, all have entered.
// Next     blocks.hpp; binary_blocks.hpp; halving_doubling.cpp of allreduce and reduce.
#pragma once

#include <bit>
#include <functional>

#include "collectives/blocks.hpp"

namespace weft::collectives {

/// Partial result of a rank: its input before the first step, then a range of the
/// output or scratch.
class Partial {
  public:
    enum class Kept : std::uint8_t { output, scratch };
    enum class From : std::uint8_t { before, after };

    Partial(BlockWriter& writer, Kept kept) : writer_(writer), kept_(kept) {}

    [[nodiscard]] plan::Block kept(BlockRange range) const {
        return kept_ == Kept::output ? writer_.output(range.first, range.count)
                                     : writer_.scratch(0, range.first, range.count);
    }
    [[nodiscard]] plan::Block value(BlockRange range) const {
        return combined_ ? kept(range) : writer_.input(range.first, range.count);
    }

    /// Combines the range with a peer's payload. `from` tells if the peer's values are before or
    /// after all values combined so far.
    void combine(BlockRange range, Rank peer, std::uint32_t number, From from) {
        writer_->wait(peer, number);
        const plan::Block came = writer_.slot(number, range.first, range.count);
        const plan::Block own = value(range);
        writer_->reduce(kept(range),
                        {from == From::before ? came : own, from == From::before ? own : came});
        combined_ = true;
    }
    /// Replaces the range by a peer's finished result. `sent`: earlier puts may still
    /// read the range.
    void take(BlockRange range, Rank peer, std::uint32_t number, bool sent = false) {
        writer_->wait(peer, number);
        if (sent) writer_->flush();
        writer_->copy(kept(range), writer_.slot(number, range.first, range.count));
        combined_ = true;
    }

  private:
    BlockWriter& writer_;
    Kept kept_;
    bool combined_ = false;
};

/// Steps of one of 2^steps numbers. `rank_of` maps a number to its rank.
class Halving {
  public:
    struct Position {
        std::uint32_t number = 0;
        std::uint32_t steps = 0;
        std::uint32_t blocks = 1;  ///< of the vector; a power of two, at least 2^steps
    };

    Halving(BlockWriter& writer, Partial& partial, Position position,
            std::function<Rank(std::uint32_t)> rank_of)
        : writer_(writer), partial_(partial), position_(position), rank_of_(std::move(rank_of)) {}

    /// Returns the range that this number has after all steps.
    [[nodiscard]] BlockRange own() const { return range(position_.number, position_.steps); }

    // halve(), double_up() and gather() each use one number for each step, from `first` on.
    void halve(std::uint32_t first) {
        for (std::uint32_t step = 0; step < position_.steps; ++step) {
            const std::uint32_t other = position_.number ^ (1U << step);
            writer_->put(rank_of_(other), first + step, partial_.value(range(other, step + 1)));
            partial_.combine(
                range(position_.number, step + 1), rank_of_(other), first + step,
                other < position_.number ? Partial::From::before : Partial::From::after);
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
    /// Collects all ranges at number `to`. In each step, of two numbers with ranges, the one that
    /// differs from `to` in the step's bit puts its range to the other.
    void gather(std::uint32_t to, std::uint32_t first) {
        for (std::uint32_t step = position_.steps; step-- > 0;) {
            const std::uint32_t other = position_.number ^ (1U << step);
            if (((position_.number ^ to) >> step & 1) != 0)
                return writer_->put(rank_of_(other), first + step,
                                    partial_.kept(range(position_.number, step + 1)));
            partial_.take(range(other, step + 1), rank_of_(other), first + step,
                          step + 1 == position_.steps);
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
    Partial& partial_;
    Position position_;
    std::function<Rank(std::uint32_t)> rank_of_;
};

/// Maps ranks to a power of two of numbers. Each pair at the front shares a number.
struct Folding {
    explicit Folding(Rank size)
        : numbers(std::bit_floor(static_cast<std::uint32_t>(size))),
          pairs(static_cast<std::uint32_t>(size) - numbers) {}

    std::uint32_t numbers;
    std::uint32_t pairs;

    [[nodiscard]] std::uint32_t steps() const {
        return static_cast<std::uint32_t>(std::countr_zero(numbers));
    }
    [[nodiscard]] bool in_pair(Rank rank) const {
        return static_cast<std::uint32_t>(rank) < 2 * pairs;
    }
    [[nodiscard]] std::uint32_t number_of(Rank rank) const {
        const auto place = static_cast<std::uint32_t>(rank);
        return in_pair(rank) ? place / 2 : place - pairs;
    }
    /// Returns the rank with this number; the first rank of a pair.
    [[nodiscard]] Rank first_of(std::uint32_t number) const {
        return static_cast<Rank>(number < pairs ? 2 * number : number + pairs);
    }
};

/// Folds a pair: each rank combines half of the vector. Then the rank that does not represent the
/// pair (`speaks` is false) sends its half to the other.
inline void fold_pair(BlockWriter& writer, Partial& partial, Rank rank, BlockRange half,
                      bool speaks, std::uint32_t first) {
    const bool even = rank % 2 == 0;
    const Rank other = even ? rank + 1 : rank - 1;
    const BlockRange upper{half.first + half.count, half.count};
    const BlockRange mine = even ? half : upper;
    const BlockRange theirs = even ? upper : half;
    writer->put(other, first, partial.value(theirs));
    partial.combine(mine, other, first, even ? Partial::From::after : Partial::From::before);
    if (speaks) {
        partial.take(theirs, other, first + 1, true);
    } else {
        writer->put(other, first + 1, partial.kept(mine));
    }
}

}  // namespace weft::collectives
