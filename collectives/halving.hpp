// SPDX-License-Identifier: BSD-3-Clause
// halving.hpp - recursive halving of a vector among a power of two of ranks, and the ways back.
//
// Idea     In step k number w and number w xor 2^k each send the half of their range that the other
//          keeps and combine the half that they keep, nearest numbers and longest messages first.
//          Back the ranges go the same way: to all (doubling), or to one number (a gather). Where
//          there is no power of two of ranks, pairs fold into one before.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.5.
// Holds    Combined in the order of numbers. A number that is through knows that all have entered.
// Next     blocks.hpp; binary_blocks.hpp; halving_doubling.cpp of allreduce and reduce.
#pragma once

#include <bit>
#include <functional>

#include "collectives/blocks.hpp"

namespace weft::collectives {

/// A rank's vector while it is combined: in the input, and after the first step where it is kept.
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

    /// With what comes from a rank before or after all whose values are in here.
    void combine(BlockRange range, Rank peer, std::uint32_t number, From from) {
        writer_->wait(peer, number);
        const plan::Block came = writer_.slot(number, range.first, range.count);
        const plan::Block own = value(range);
        writer_->reduce(kept(range),
                        {from == From::before ? came : own, from == From::before ? own : came});
        combined_ = true;
    }
    /// What is done elsewhere. `sent`: puts may still read what stands in its place.
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

/// What one of 2^steps numbers does; `rank_of` says who the others are.
class Halving {
  public:
    struct Position {
        std::uint32_t number = 0;
        std::uint32_t steps = 0;
        std::uint32_t blocks = 1;  ///< of the vector: a power of two, 2^steps at least
    };

    Halving(BlockWriter& writer, Partial& partial, Position position,
            std::function<Rank(std::uint32_t)> rank_of)
        : writer_(writer), partial_(partial), position_(position), rank_of_(std::move(rank_of)) {}

    /// What this number has after all steps.
    [[nodiscard]] BlockRange own() const { return range(position_.number, position_.steps); }

    // Each takes as many numbers as there are steps, from `first` on.
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
    /// Of each two numbers that have ranges the one that differs from `to` puts its own to the
    /// other.
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

    /// What any of the three puts, on all ranks.
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

/// Ranks as a power of two of numbers: of each pair at the front one speaks for both.
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
    /// The rank with this number, of a pair the first one.
    [[nodiscard]] Rank first_of(std::uint32_t number) const {
        return static_cast<Rank>(number < pairs ? 2 * number : number + pairs);
    }
};

/// Each rank of a pair combines half of the vector; who does not speak for both hands its half
/// over.
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
