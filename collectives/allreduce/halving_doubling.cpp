// SPDX-License-Identifier: BSD-3-Clause
// halving_doubling.cpp - allreduce by recursive halving (reduce-scatter) and doubling (allgather).
//
// Idea     In step k rank w and rank w xor 2^k each send the half of their blocks that the other keeps
//          and reduce the half that they keep, nearest ranks and longest messages first; then the blocks
//          are gathered the same way back. If n is no power of two, the first 2r ranks (r = n - p, p the
//          power below) first become r: of each pair, either reduces half of the vector, and the odd one
//          hands its half over; at the end it gets the result.
// Source   Rabenseifner, Optimization of collective reduction operations, section 3.5.
// Rounds   2 log2 p, and 3 more if n is no power of two.
// Bytes    Of m: a rank sends 2m (1 - 1/p); one that speaks for a pair m/2 + m more. It reduces
//          m (1 - 1/p), or m/2 more.
// Memory   Slots for 2 (p - 1) blocks of m/p, and for two halves and a vector if pairs fold; no scratch.
// Good for Long vectors where n is a power of two: the least bytes in the fewest rounds.
// Holds    Blocks are reduced in rank order and once each, so results are bit-identical.
#include "collectives/allreduce/allreduce.hpp"
#include "collectives/blocks.hpp"

namespace weft::collectives {

namespace {

// Numbers; behind them one for each halving and one for each doubling.
constexpr std::uint32_t kFold = 0;
constexpr std::uint32_t kHandOver = 1;
constexpr std::uint32_t kResult = 2;
constexpr std::uint32_t kFirstStep = 3;

class HalvingDoubling {
  public:
    HalvingDoubling(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          rank_(static_cast<std::uint32_t>(request.rank)),
          blocks_(std::bit_floor(static_cast<std::uint32_t>(request.size))),
          folded_(static_cast<std::uint32_t>(request.size) - blocks_),
          steps_(static_cast<std::uint32_t>(std::countr_zero(blocks_))) {}

    void write() {
        const bool in_pair = rank_ < 2 * folded_;
        if (in_pair && rank_ % 2 != 0) {
            fold_away();
        } else {
            if (in_pair) fold();
            const std::uint32_t number = in_pair ? rank_ / 2 : rank_ - folded_;
            halve(number);
            double_up(number);
            if (in_pair)
                writer_->put(static_cast<Rank>(rank_ + 1), kResult, writer_.output(0, blocks_));
        }
        reserve();
    }

  private:
    /// The odd one of a pair: reduces the upper half, hands it over and waits for the result.
    void fold_away() {
        const auto other = static_cast<Rank>(rank_ - 1);
        const std::uint32_t half = blocks_ / 2;
        writer_->put(other, kFold, writer_.input(0, half));
        writer_->wait(other, kFold);
        writer_->reduce(writer_.output(half, half),
                        {writer_.slot(kFold, half, half), writer_.input(half, half)});
        writer_->put(other, kHandOver, writer_.output(half, half));
        writer_->wait(other, kResult);
        writer_->local();
        writer_->copy(writer_.output(0, blocks_), writer_.slot(kResult, 0, blocks_));
    }

    void fold() {
        const auto other = static_cast<Rank>(rank_ + 1);
        const std::uint32_t half = blocks_ / 2;
        writer_->put(other, kFold, writer_.input(half, half));
        writer_->wait(other, kFold);
        writer_->reduce(writer_.output(0, half),
                        {writer_.input(0, half), writer_.slot(kFold, 0, half)});
        writer_->wait(other, kHandOver);
        writer_->local();
        writer_->copy(writer_.output(half, half), writer_.slot(kHandOver, half, half));
        holds_output_ = true;
    }

    void halve(std::uint32_t number) {
        for (std::uint32_t step = 0; step < steps_; ++step) {
            const Rank other = real(number ^ (1U << step));
            const BlockRange mine = halved(blocks_, number, step + 1);
            const BlockRange theirs = halved(blocks_, number ^ (1U << step), step + 1);
            const std::uint32_t slot = kFirstStep + step;
            writer_->put(other, slot, value(theirs));
            writer_->wait(other, slot);
            const plan::Block arrived = writer_.slot(slot, mine.first, mine.count);
            const bool lower = (number >> step & 1) == 0;
            writer_->reduce(writer_.output(mine.first, mine.count),
                            {lower ? value(mine) : arrived, lower ? arrived : value(mine)});
            holds_output_ = true;
        }
        if (steps_ == 0) writer_->copy(writer_.output(0), writer_.input(0));
    }

    void double_up(std::uint32_t number) {
        if (steps_ > 0) writer_->local();  // the halves that were sent away come back
        for (std::uint32_t step = steps_; step-- > 0;) {
            const Rank other = real(number ^ (1U << step));
            const BlockRange mine = halved(blocks_, number, step + 1);
            const BlockRange theirs = halved(blocks_, number ^ (1U << step), step + 1);
            const std::uint32_t slot = kFirstStep + steps_ + step;
            writer_->put(other, slot, writer_.output(mine.first, mine.count));
            writer_->wait(other, slot);
            writer_->copy(writer_.output(theirs.first, theirs.count),
                          writer_.slot(slot, theirs.first, theirs.count));
        }
    }

    void reserve() {
        if (steps_ == 0) return;
        const bool folds = folded_ > 0;
        writer_->reserve_room(kFold, folds ? blocks_ / 2 : 0);
        writer_->reserve_room(kHandOver, folds ? blocks_ / 2 : 0);
        writer_->reserve_room(kResult, folds ? blocks_ : 0);
        for (std::uint32_t step = 0; step < steps_; ++step) {
            writer_->reserve_room(kFirstStep + step, blocks_ >> (step + 1));
            writer_->reserve_room(kFirstStep + steps_ + step, blocks_ >> (step + 1));
        }
    }

    [[nodiscard]] plan::Block value(BlockRange range) const {
        return holds_output_ ? writer_.output(range.first, range.count)
                             : writer_.input(range.first, range.count);
    }
    [[nodiscard]] Rank real(std::uint32_t number) const {
        return static_cast<Rank>(number < folded_ ? 2 * number : number + folded_);
    }

    BlockWriter& writer_;
    std::uint32_t rank_;
    std::uint32_t blocks_;  ///< the power of two
    std::uint32_t folded_;  ///< pairs of which one speaks for both
    std::uint32_t steps_;
    bool holds_output_ = false;
};

base::Result<plan::Program> generate_halving_doubling(const AlgorithmSpec& spec,
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
    HalvingDoubling(writer, request).write();
    return std::move(writer).finish();
}

}  // namespace

Algorithm allreduce_halving_doubling() {
    return {
        .collective = "allreduce",
        .name = "halving-doubling",
        .summary =
            "halves of the vector are exchanged and reduced, then gathered the same way back",
        .source = "Rabenseifner, Optimization of collective reduction operations, section 3.5",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_halving_doubling,
    };
}

}  // namespace weft::collectives
