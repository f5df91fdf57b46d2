// SPDX-License-Identifier: BSD-3-Clause
// binary_blocks.cpp - allreduce and reduce in blocks of ranks whose sizes are powers of two.
//
// Idea     n is a sum of powers of two. The ranks form one block for each of these powers, in rank
//          order, the largest block first. Each block does recursive halving. Then, from the
//          smallest block on, every rank sends its range to the ranks of the next larger block that
//          have parts of it. The largest block ends up with the result.
//          allreduce: the result returns the same way. Then each block does recursive doubling.
//          reduce: the ranks of the largest block gather the result at the root. If the root is in
//          another block, the root runs rank 0's steps of the gather, and rank 0 puts its part to
//          the root.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.6.
// Rounds   2 floor(log2 n): smaller blocks send their results while larger ones still halve.
// Bytes    For a buffer of m bytes, in a block of 2^a ranks: a rank reduces m (1 - 1/2^a), and
//          m/2^a from the smaller block. allreduce: it sends 2m (1 - 1/2^a), and m/2^a to the next
//          larger and to the next smaller block, if there are such blocks. reduce: it sends
//          m (1 - 1/2^a), and m/2^a to the next larger block. In the largest block a rank that is
//          done in step k of the gather sends m / 2^(k+1). Rank 0 also sends its m/2^a to a root in
//          another block.
// Memory   Slots for about 2m. allreduce: also for the results that return from a block of 2^b
//          ranks to one of 2^a ranks, 2^(b-a) parts of m/2^b. reduce: a scratch buffer on all ranks
//          but the root; with segments two copies of slots, and a credit for each part from smaller
//          blocks.
// Good for Long buffers if n is no power of two and consecutive exponents of its sum are close.
// Holds    When a rank of the largest block has the result, all ranks have entered. A reduce is
//          synchronizing if n is a power of two; otherwise ranks of smaller blocks complete early.
#include <algorithm>
#include <optional>

#include "collectives/entries.hpp"
#include "collectives/generate/range_exchange.hpp"

namespace weft::collectives {

namespace {

/// Position of a rank in the blocks, and the steps that reduce to the largest block.
class BinaryBlocks {
  public:
    BinaryBlocks(BlockWriter& writer, PartialResult& partial, Rank rank, Rank size)
        : writer_(writer), partial_(partial) {
        const auto ranks = as_u32(size);
        const auto own = as_u32(rank);
        std::uint32_t first = 0;
        for (std::uint32_t exponent = 32; exponent-- > 0;) {
            if ((ranks >> exponent & 1) == 0) continue;
            if (first <= own) {
                index_ = groups_.size();
                number_ = own - first;
            }
            groups_.push_back({first, exponent});
            first += 1U << exponent;
        }
        blocks_ = 1U << groups_.front().exponent;
    }

    /// Halves within the block, combines the values of the smaller block, and sends the range to
    /// the larger block. Uses a put number for each halving, then up_number(). `credits`: first of
    /// the numbers for credits, one for each part of a range; nullopt: slots need no credits.
    void reduce_up(std::optional<std::uint32_t> credits = std::nullopt) {
        exchange().halve(0);
        if (has_smaller()) {
            partial_.combine(range(), below(), up_number(), PartialResult::From::after);
            if (credits) writer_.give_credit(below(), *credits + part());
        }
        if (!has_larger()) return;
        for_each_above([&](Rank above, std::uint32_t part, BlockRange range) {
            if (credits) writer_.await_credit(above, *credits + part);
            writer_->put(above, up_number(), partial_.value(range));
        });
    }
    void reserve_up() {
        RangeExchange::reserve(writer_, 0, steps(), blocks_);
        for_each_border([&](std::uint32_t larger, std::uint32_t) {
            writer_->reserve_capacity(up_number(), blocks_ >> larger);
        });
    }
    /// Reserves capacity for parts that are sent back to smaller blocks, from number `first` on.
    void reserve_back(std::uint32_t first) {
        for_each_border([&](std::uint32_t larger, std::uint32_t parts) {
            writer_->reserve_capacities(first, parts, blocks_ >> larger);
        });
    }

    /// Returns the halving among the ranks of this rank's block.
    [[nodiscard]] RangeExchange exchange() {
        return {writer_,
                partial_,
                {number_, group().exponent, blocks_},
                [group = group()](std::uint32_t number) { return rank_of(group, number); }};
    }
    /// Returns the halving of the largest block for `number`; rank `zero` has number 0 there.
    [[nodiscard]] RangeExchange exchange_in_largest(std::uint32_t number, Rank zero) {
        return {
            writer_,
            partial_,
            {number, groups_.front().exponent, blocks_},
            [zero](std::uint32_t other) { return other == 0 ? zero : static_cast<Rank>(other); }};
    }

    /// Calls visit(rank, part, its range) for the ranks of the next larger block that have parts of
    /// this rank's range.
    template <class Visit>
    void for_each_above(Visit visit) const {
        const Group& larger = groups_[index_ - 1];
        for (std::uint32_t part = 0; part < 1U << (larger.exponent - group().exponent); ++part) {
            const std::uint32_t number = number_ + (part << group().exponent);
            visit(rank_of(larger, number), part, halved(blocks_, number, larger.exponent));
        }
    }
    /// Returns the rank of the next smaller block whose range contains this rank's range.
    [[nodiscard]] Rank below() const {
        const Group& smaller = groups_[index_ + 1];
        return rank_of(smaller, number_ & ((1U << smaller.exponent) - 1));
    }
    /// Returns the index of this rank's range among the parts of below()'s range.
    [[nodiscard]] std::uint32_t part() const { return number_ >> groups_[index_ + 1].exponent; }
    /// Returns the largest number of parts of any rank's range.
    [[nodiscard]] std::uint32_t parts_max() const {
        std::uint32_t most = 0;
        for_each_border([&](std::uint32_t, std::uint32_t parts) { most = std::max(most, parts); });
        return most;
    }

    [[nodiscard]] bool has_larger() const { return index_ > 0; }
    [[nodiscard]] bool has_smaller() const { return index_ + 1 < groups_.size(); }
    /// Returns this rank's index in its block.
    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] BlockRange range() const { return halved(blocks_, number_, group().exponent); }
    /// Returns the number of blocks into which the buffer is cut.
    [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
    /// Returns the number of halvings in the largest block.
    [[nodiscard]] std::uint32_t steps() const { return groups_.front().exponent; }
    /// Returns the number of puts to the next larger block.
    [[nodiscard]] std::uint32_t up_number() const { return steps(); }

  private:
    /// A block of 2^exponent ranks, from `first` on.
    struct Group {
        std::uint32_t first = 0;
        std::uint32_t exponent = 0;
    };

    /// Calls visit(exponent of the larger block, parts of a rank's range in the smaller block).
    template <class Visit>
    void for_each_border(Visit visit) const {
        for (std::size_t group = 1; group < groups_.size(); ++group) {
            const std::uint32_t larger = groups_[group - 1].exponent;
            visit(larger, 1U << (larger - groups_[group].exponent));
        }
    }
    [[nodiscard]] const Group& group() const { return groups_[index_]; }
    [[nodiscard]] static Rank rank_of(const Group& group, std::uint32_t number) {
        return static_cast<Rank>(group.first + number);
    }

    BlockWriter& writer_;
    PartialResult& partial_;
    std::vector<Group> groups_;  ///< largest first
    std::uint32_t blocks_ = 1;   ///< blocks of the buffer, one for each rank of the largest group
    std::size_t index_ = 0;      ///< index of this rank's block in groups_
    std::uint32_t number_ = 0;
};

void write_allreduce(BlockWriter& writer, const GenerateRequest& request) {
    PartialResult partial(writer, PartialResult::Kept::output);
    BinaryBlocks blocks(writer, partial, request.rank, request.size);
    const std::uint32_t first_doubling = blocks.up_number() + 1;
    const std::uint32_t first_back = first_doubling + blocks.steps();
    blocks.reduce_up();
    if (blocks.has_larger()) {
        blocks.for_each_above([&](Rank above, std::uint32_t part, BlockRange range) {
            partial.take(range, above, first_back + part, part == 0 ? Flush::yes : Flush::no);
        });
    } else if (request.size > 1) {
        writer->flush();  // results replace the halves that were sent
    }
    if (blocks.has_smaller())
        writer->put(blocks.below(), first_back + blocks.part(), partial.kept(blocks.range()));
    blocks.exchange().double_up(first_doubling);
    if (request.size == 1) writer->copy(writer.output(0), writer.input(0));
    blocks.reserve_up();
    RangeExchange::reserve(writer, first_doubling, blocks.steps(), blocks.blocks());
    blocks.reserve_back(first_back);
}

void write_reduce(BlockWriter& writer, const GenerateRequest& request) {
    const bool at_root = request.rank == request.root;
    PartialResult partial(writer,
                          at_root ? PartialResult::Kept::output : PartialResult::Kept::scratch);
    BinaryBlocks blocks(writer, partial, request.rank, request.size);
    const std::uint32_t first_gather = blocks.up_number() + 1;
    const std::uint32_t result_of_zero = first_gather + blocks.steps();
    const std::uint32_t first_credit = result_of_zero + 1;
    blocks.reduce_up(first_credit);
    const auto top = as_u32(request.root);
    if (top < blocks.blocks()) {
        if (!blocks.has_larger()) blocks.exchange().gather(top, first_gather);
    } else if (at_root) {
        blocks.exchange_in_largest(0, request.root).gather(0, first_gather);
        partial.take(halved(blocks.blocks(), 0, blocks.steps()), 0, result_of_zero);
    } else if (request.rank == 0) {
        writer->put(request.root, result_of_zero, partial.kept(blocks.range()));
    } else if (!blocks.has_larger()) {
        blocks.exchange_in_largest(blocks.number(), request.root).gather(0, first_gather);
    }
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    blocks.reserve_up();
    RangeExchange::reserve(writer, first_gather, blocks.steps(), blocks.blocks());
    writer->reserve_capacity(result_of_zero, top < blocks.blocks() ? 0 : 1);
    writer.reserve_credits(first_credit, blocks.parts_max());
}

}  // namespace

Algorithm allreduce_binary_blocks() {
    return range_exchange_entry(
        "allreduce", "binary-blocks",
        "halving and doubling in blocks of 2^k ranks, each of which sends to the next larger one",
        "Rabenseifner, Optimization of collective reduction operations, section 3.6",
        write_allreduce);
}
Algorithm reduce_binary_blocks() {
    return range_exchange_entry(
        "reduce", "binary-blocks",
        "halving in blocks of 2^k ranks, each of which sends to the next larger one; then a gather",
        "Rabenseifner, Optimization of collective reduction operations, section 3.6", write_reduce);
}

}  // namespace weft::collectives
