// SPDX-License-Identifier: BSD-3-Clause
// binary_blocks.cpp - allreduce by halving and doubling in blocks of powers of two.
//
// Idea     n is a sum of powers of two; so many ranks, in rank order and the largest first, form a block.
//          Each block does recursive halving. Then, smallest block first, every rank sends what it holds to
//          the ranks of the next larger block that hold the parts of it; the largest block has the
//          result, which goes back the same way; each block does recursive doubling.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.6.
// Rounds   2 floor(log2 n): while the larger blocks halve on, the smaller ones hand over.
// Bytes    Of m, in a block of 2^a ranks: 2m (1 - 1/2^a), and m/2^a up to the next larger block (if there is
//          one) and as much down to the next smaller one. Reduced: m (1 - 1/2^a), and m/2^a from below.
// Memory   Slots for about 2m, and m / 2^(a+1) for each of the 2^(difference of exponents) parts that come
//          back; no scratch.
// Good for Long vectors if n is no power of two and consecutive exponents of its sum are close.
// Holds    Blocks are reduced in rank order and once each, so results are bit-identical.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/blocks.hpp"

namespace weft::collectives {

namespace {

/// A block of ranks.
struct Team {
    std::uint32_t first = 0;
    std::uint32_t exponent = 0;
};

/// The blocks of n ranks, largest first.
std::vector<Team> teams_of(std::uint32_t ranks) {
    std::vector<Team> teams;
    std::uint32_t first = 0;
    for (std::uint32_t exponent = 32; exponent-- > 0;) {
        if ((ranks >> exponent & 1) == 0) continue;
        teams.push_back({first, exponent});
        first += 1U << exponent;
    }
    return teams;
}

class BinaryBlocks {
  public:
    BinaryBlocks(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          teams_(teams_of(static_cast<std::uint32_t>(request.size))),
          all_(1U << teams_.front().exponent) {
        const auto rank = static_cast<std::uint32_t>(request.rank);
        while (index_ + 1 < teams_.size() && teams_[index_ + 1].first <= rank) ++index_;
        number_ = rank - team().first;
    }

    void write() {
        halve();
        if (has_smaller()) take_up();
        if (has_larger()) {
            hand_up();
            writer_->local();
            take_back();
        } else if (team().exponent > 0) {
            writer_->local();  // the halves that were sent away come back
        }
        if (has_smaller()) hand_back();
        double_up();
        if (team().exponent == 0 && teams_.size() == 1)
            writer_->copy(writer_.output(0), writer_.input(0));
        reserve();
    }

  private:
    void halve() {
        for (std::uint32_t step = 0; step < team().exponent; ++step) {
            const std::uint32_t other = number_ ^ (1U << step);
            const BlockRange mine = halved(all_, number_, step + 1);
            writer_->put(rank_of(team(), other), step, value(halved(all_, other, step + 1)));
            writer_->wait(rank_of(team(), other), step);
            const plan::Block arrived = writer_.slot(step, mine.first, mine.count);
            const bool lower = (number_ >> step & 1) == 0;
            writer_->reduce(output(mine),
                            {lower ? value(mine) : arrived, lower ? arrived : value(mine)});
            holds_output_ = true;
        }
    }

    void double_up() {
        for (std::uint32_t step = team().exponent; step-- > 0;) {
            const std::uint32_t other = number_ ^ (1U << step);
            const BlockRange theirs = halved(all_, other, step + 1);
            const std::uint32_t slot = first_doubling() + step;
            writer_->put(rank_of(team(), other), slot, output(halved(all_, number_, step + 1)));
            writer_->wait(rank_of(team(), other), slot);
            writer_->copy(output(theirs), writer_.slot(slot, theirs.first, theirs.count));
        }
    }

    /// What the smaller block holds of this rank's part; its ranks are behind this block's.
    void take_up() {
        const BlockRange mine = halved(all_, number_, team().exponent);
        writer_->wait(below(), up_number());
        writer_->reduce(output(mine),
                        {value(mine), writer_.slot(up_number(), mine.first, mine.count)});
        holds_output_ = true;
    }
    void hand_back() {
        const std::uint32_t part = number_ >> teams_[index_ + 1].exponent;
        writer_->put(below(), back_number() + part, output(halved(all_, number_, team().exponent)));
    }

    void hand_up() {
        for_each_part([&](Rank above, std::uint32_t, BlockRange range) {
            writer_->put(above, up_number(), value(range));
        });
    }
    void take_back() {
        for_each_part([&](Rank above, std::uint32_t part, BlockRange range) {
            const std::uint32_t number = back_number() + part;
            writer_->wait(above, number);
            writer_->copy(output(range), writer_.slot(number, range.first, range.count));
        });
        holds_output_ = true;
    }
    /// The ranks of the larger block that hold parts of this rank's range: those with its last bits.
    template <class Visit>
    void for_each_part(Visit visit) const {
        const Team& larger = teams_[index_ - 1];
        for (std::uint32_t part = 0; part < 1U << (larger.exponent - team().exponent); ++part) {
            const std::uint32_t above = number_ + (part << team().exponent);
            visit(rank_of(larger, above), part, halved(all_, above, larger.exponent));
        }
    }

    void reserve() {
        const std::uint32_t top = teams_.front().exponent;
        for (std::uint32_t step = 0; step < top; ++step) {
            writer_->reserve_room(step, all_ >> (step + 1));
            writer_->reserve_room(first_doubling() + step, all_ >> (step + 1));
        }
        for (std::size_t smaller = 1; smaller < teams_.size(); ++smaller) {
            const std::uint32_t larger = teams_[smaller - 1].exponent;
            const std::uint32_t parts = 1U << (larger - teams_[smaller].exponent);
            writer_->reserve_room(up_number(), all_ >> larger);
            for (std::uint32_t part = 0; part < parts; ++part)
                writer_->reserve_room(back_number() + part, all_ >> larger);
        }
    }

    // Numbers: halvings, doublings, what comes from the smaller block, parts that come back.
    [[nodiscard]] std::uint32_t first_doubling() const { return teams_.front().exponent; }
    [[nodiscard]] std::uint32_t up_number() const { return 2 * teams_.front().exponent; }
    [[nodiscard]] std::uint32_t back_number() const { return up_number() + 1; }

    [[nodiscard]] const Team& team() const { return teams_[index_]; }
    [[nodiscard]] bool has_larger() const { return index_ > 0; }
    [[nodiscard]] bool has_smaller() const { return index_ + 1 < teams_.size(); }
    [[nodiscard]] static Rank rank_of(const Team& team, std::uint32_t number) {
        return static_cast<Rank>(team.first + number);
    }
    /// The rank of the next smaller block that works on this rank's part.
    [[nodiscard]] Rank below() const {
        const Team& smaller = teams_[index_ + 1];
        return rank_of(smaller, number_ & ((1U << smaller.exponent) - 1));
    }
    [[nodiscard]] plan::Block output(BlockRange range) const {
        return writer_.output(range.first, range.count);
    }
    [[nodiscard]] plan::Block value(BlockRange range) const {
        return holds_output_ ? output(range) : writer_.input(range.first, range.count);
    }

    BlockWriter& writer_;
    std::vector<Team> teams_;
    std::uint32_t all_;         ///< blocks of the vector: ranks of the largest block
    std::size_t index_ = 0;     ///< this rank's block
    std::uint32_t number_ = 0;  ///< in it
    bool holds_output_ = false;
};

base::Result<plan::Program> generate_binary_blocks(const AlgorithmSpec& spec,
                                                   const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allreduce", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.synchronizing = true;
    const auto blocks = std::bit_floor(static_cast<std::uint32_t>(request.size));
    BlockWriter writer(std::move(header), blocks, *segments);
    BinaryBlocks(writer, request).write();
    return std::move(writer).finish();
}

}  // namespace

Algorithm allreduce_binary_blocks() {
    return {
        .collective = "allreduce",
        .name = "binary-blocks",
        .summary =
            "halving and doubling in blocks of powers of two, which hand over to the next larger",
        .source = "Rabenseifner, Optimization of collective reduction operations, section 3.6",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_binary_blocks,
    };
}

}  // namespace weft::collectives
