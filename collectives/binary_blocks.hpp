// SPDX-License-Identifier: BSD-3-Clause
// binary_blocks.hpp - reduction in blocks of ranks whose sizes are powers of two.
//
// Idea     n is a sum of powers of two. The ranks form one block for each of these powers, in rank
//          order, the largest block first. Each block does recursive halving. Then, from the
//          smallest block on, every rank sends its range to the ranks of the next larger block that
//          have parts of it. The largest block ends up with the result.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.6.
// Holds    Combines in rank order. When a rank of the largest block completes, all
//          ranks have entered.
// Next     halving.hpp; binary_blocks.cpp of allreduce and reduce.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/halving.hpp"

namespace weft::collectives {

/// Position of a rank in the blocks, and the steps that reduce to the largest block.
class BinaryBlocks {
  public:
    BinaryBlocks(BlockWriter& writer, Partial& partial, Rank rank, Rank size)
        : writer_(writer), partial_(partial) {
        const auto ranks = static_cast<std::uint32_t>(size);
        const auto place = static_cast<std::uint32_t>(rank);
        std::uint32_t first = 0;
        for (std::uint32_t exponent = 32; exponent-- > 0;) {
            if ((ranks >> exponent & 1) == 0) continue;
            if (first <= place) {
                index_ = teams_.size();
                number_ = place - first;
            }
            teams_.push_back({first, exponent});
            first += 1U << exponent;
        }
        blocks_ = 1U << teams_.front().exponent;
    }

    /// Halves within the block, combines the values of the smaller block, and sends the range
    /// to the larger block. Uses the numbers of the halvings, and then one for values from
    /// smaller blocks. `credits`: number of the first credit, if slots need them; each part of
    /// a range has one.
    void reduce_up(std::optional<std::uint32_t> credits = std::nullopt) {
        halving().halve(0);
        if (has_smaller()) {
            partial_.combine(own(), below(), up_number(), Partial::From::after);
            if (credits) writer_.give_credit(below(), *credits + part());
        }
        if (!has_larger()) return;
        for_each_above([&](Rank above, std::uint32_t part, BlockRange range) {
            if (credits) writer_.await_credit(above, *credits + part);
            writer_->put(above, up_number(), partial_.value(range));
        });
    }
    void reserve_up() {
        Halving::reserve(writer_, 0, steps(), blocks_);
        for_each_border([&](std::uint32_t larger, std::uint32_t) {
            writer_->reserve_capacity(up_number(), blocks_ >> larger);
        });
    }
    /// Reserves capacity for parts that are sent back to smaller blocks, from number `first` on.
    void reserve_back(std::uint32_t first) {
        for_each_border([&](std::uint32_t larger, std::uint32_t parts) {
            for (std::uint32_t part = 0; part < parts; ++part)
                writer_->reserve_capacity(first + part, blocks_ >> larger);
        });
    }

    /// Returns the halving among the ranks of this rank's block.
    [[nodiscard]] Halving halving() {
        return {writer_,
                partial_,
                {number_, team().exponent, blocks_},
                [team = team()](std::uint32_t number) { return rank_of(team, number); }};
    }
    /// Returns the halving of the largest block for `number`, in which rank `zero` has number 0.
    [[nodiscard]] Halving halving_of_largest(std::uint32_t number, Rank zero) {
        return {
            writer_,
            partial_,
            {number, teams_.front().exponent, blocks_},
            [zero](std::uint32_t other) { return other == 0 ? zero : static_cast<Rank>(other); }};
    }

    /// Calls visit(rank, part, its range) for the ranks of the next larger block that have parts of
    /// this rank's range.
    template <class Visit>
    void for_each_above(Visit visit) const {
        const Team& larger = teams_[index_ - 1];
        for (std::uint32_t part = 0; part < 1U << (larger.exponent - team().exponent); ++part) {
            const std::uint32_t number = number_ + (part << team().exponent);
            visit(rank_of(larger, number), part, halved(blocks_, number, larger.exponent));
        }
    }
    /// Returns the rank of the next smaller block whose range contains this rank's range.
    [[nodiscard]] Rank below() const {
        const Team& smaller = teams_[index_ + 1];
        return rank_of(smaller, number_ & ((1U << smaller.exponent) - 1));
    }
    /// Returns the index of this rank's range among the parts of below()'s range.
    [[nodiscard]] std::uint32_t part() const { return number_ >> teams_[index_ + 1].exponent; }
    /// Returns the largest number of parts of any rank's range.
    [[nodiscard]] std::uint32_t parts_max() const {
        std::uint32_t most = 0;
        for_each_border([&](std::uint32_t, std::uint32_t parts) { most = std::max(most, parts); });
        return most;
    }

    [[nodiscard]] bool has_larger() const { return index_ > 0; }
    [[nodiscard]] bool has_smaller() const { return index_ + 1 < teams_.size(); }
    [[nodiscard]] std::uint32_t number() const { return number_; }  ///< in this rank's block
    /// Returns the range that this rank has after its block has halved.
    [[nodiscard]] BlockRange own() const { return halved(blocks_, number_, team().exponent); }
    [[nodiscard]] std::uint32_t blocks() const { return blocks_; }  ///< of the vector
    [[nodiscard]] std::uint32_t steps() const { return teams_.front().exponent; }
    [[nodiscard]] std::uint32_t up_number() const { return steps(); }

  private:
    /// A block of ranks: `first` is its lowest rank, and it has 2^exponent ranks.
    struct Team {
        std::uint32_t first = 0;
        std::uint32_t exponent = 0;
    };

    /// Calls visit(exponent of the larger block, parts of a rank's range in the smaller block).
    template <class Visit>
    void for_each_border(Visit visit) const {
        for (std::size_t team = 1; team < teams_.size(); ++team) {
            const std::uint32_t larger = teams_[team - 1].exponent;
            visit(larger, 1U << (larger - teams_[team].exponent));
        }
    }
    [[nodiscard]] const Team& team() const { return teams_[index_]; }
    [[nodiscard]] static Rank rank_of(const Team& team, std::uint32_t number) {
        return static_cast<Rank>(team.first + number);
    }

    BlockWriter& writer_;
    Partial& partial_;
    std::vector<Team> teams_;   ///< largest first
    std::uint32_t blocks_ = 1;  ///< ranks of the largest block
    std::size_t index_ = 0;     ///< of this rank's block
    std::uint32_t number_ = 0;
};

}  // namespace weft::collectives
