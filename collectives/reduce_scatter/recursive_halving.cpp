// SPDX-License-Identifier: BSD-3-Clause
// recursive_halving.cpp - reduce_scatter by recursive halving.
//
// Idea     In step k ranks w and w xor 2^k exchange blocks. Each sends the blocks of the ranks
//          whose bit k equals the peer's, and reduces those whose bit k equals its own. At the end
//          a rank has its own block.
//          If n is no power of two, the first 2r ranks fold in pairs, where r = n - p and p is the
//          power of two below n. The even rank represents the pair and puts the other's block back
//          at the end.
// Source   Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
//          MPICH, section 4.4. Here the first steps are between the nearest ranks, which keeps the
//          rank order. So the blocks of a message are 2^k apart.
// Rounds   log2 p, and 2 more if n is no power of two.
// Bytes    A rank sends and reduces n - 1 blocks if n is a power of two. Otherwise, a rank that
//          represents a pair also reduces n blocks, which the other rank sends.
// Memory   Slots for n - 1 blocks (and n to fold); one scratch vector.
// Good for Short and medium blocks; operations that do not commute.
// Holds    Synchronizing. Combines in rank order.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

using plan::Block;

// Put numbers; the numbers of the steps follow.
constexpr std::uint32_t kFold = 0;
constexpr std::uint32_t kResult = 1;
constexpr std::uint32_t kFirstStep = 2;

class RecursiveHalving {
  public:
    RecursiveHalving(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          rank_(as_u32(request.rank)),
          size_(as_u32(request.size)),
          power_(std::bit_floor(size_)),
          folded_(size_ - power_) {}

    void write() {
        const bool in_pair = rank_ < 2 * folded_;
        if (in_pair && rank_ % 2 != 0) {
            writer_->put(static_cast<Rank>(rank_ - 1), kFold, writer_.input(0, size_));
            writer_->wait(static_cast<Rank>(rank_ - 1), kResult);
            writer_->flush();
            writer_->copy(writer_.output(rank_), writer_.slot(kResult, rank_));
        } else {
            if (in_pair) fold();
            halve(in_pair ? rank_ / 2 : rank_ - folded_);
            if (in_pair)
                writer_->put(static_cast<Rank>(rank_ + 1), kResult, writer_.scratch(0, rank_ + 1));
        }
        if (size_ == 1) writer_->copy(writer_.output(0), writer_.input(0));
        reserve();
    }

  private:
    void fold() {
        writer_->wait(static_cast<Rank>(rank_ + 1), kFold);
        writer_->reduce(writer_.scratch(0, 0, size_),
                        {writer_.input(0, size_), writer_.slot(kFold, 0, size_)});
        in_scratch_ = true;
    }

    void halve(std::uint32_t number) {
        std::uint32_t slot = kFirstStep;
        for (std::uint32_t bit = 1; bit < power_; bit *= 2, ++slot) {
            const std::uint32_t other = number ^ bit;
            writer_->put(rank_of(other), slot, blocks_like(other, bit, Home::value));
            writer_->wait(rank_of(other), slot);
            const bool last = 2 * bit == power_;
            const std::vector<Block> received = blocks_like(number, bit, Home::slot, slot);
            const std::vector<Block> own = blocks_like(number, bit, Home::value);
            std::vector<Block> operands = number < other ? own : received;
            const std::vector<Block>& second = number < other ? received : own;
            operands.insert(operands.end(), second.begin(), second.end());
            writer_->reduce_lists(blocks_like(number, bit, last ? Home::result : Home::scratch),
                                  operands);
            in_scratch_ = true;
        }
    }

    /// Buffer of blocks. `value`: scratch, or the input before the first reduction. `result`: the
    /// output for this rank's block, scratch for the block of its pair's second rank.
    enum class Home : std::uint8_t { value, scratch, slot, result };
    /// Returns the blocks of all ranks whose number equals `number` in the bits up to `bit`. The
    /// list has at most three entries: first ranks of pairs, second ranks of pairs, and ranks
    /// without a pair.
    [[nodiscard]] std::vector<Block> blocks_like(std::uint32_t number, std::uint32_t bit, Home home,
                                                 std::uint32_t slot = 0) const {
        const std::uint32_t distance = 2 * bit;
        const std::uint32_t first = number % distance;
        const std::uint32_t paired = count_below(folded_, first, distance);
        const std::uint32_t all = count_below(power_, first, distance);
        std::vector<Block> list;
        const auto add = [&](std::uint32_t block, std::uint32_t count, std::uint32_t stride) {
            if (count != 0) list.push_back(blocks_in(home, block, count, stride, slot));
        };
        add(2 * first, paired, 2 * distance);
        add(2 * first + 1, paired, 2 * distance);
        add(first + paired * distance + folded_, all - paired, distance);
        return list;
    }
    /// Returns the number of values first, first + distance, ... that are less than `end`.
    [[nodiscard]] static std::uint32_t count_below(std::uint32_t end, std::uint32_t first,
                                                   std::uint32_t distance) {
        return first < end ? (end - first - 1) / distance + 1 : 0;
    }
    [[nodiscard]] Block blocks_in(Home home, std::uint32_t first, std::uint32_t count,
                                  std::uint32_t stride, std::uint32_t slot) const {
        const auto every = [stride](Block blocks) { return strided(blocks, stride); };
        if (home == Home::slot) return every(writer_.slot(slot, first, count));
        if (home == Home::result && first == rank_) return writer_.output(first);
        if (home == Home::value && !in_scratch_) return every(writer_.input(first, count));
        return every(writer_.scratch(0, first, count));
    }

    void reserve() {
        if (size_ == 1) return;
        writer_->reserve_capacity(kFold, folded_ > 0 ? size_ : 0);
        writer_->reserve_capacity(kResult, folded_ > 0 ? 1 : 0);
        std::uint32_t slot = kFirstStep;
        for (std::uint32_t bit = 1; bit < power_; bit *= 2, ++slot) {
            const std::uint32_t numbers = power_ / (2 * bit);
            writer_->reserve_capacity(slot, numbers + std::min(numbers, folded_));
        }
    }
    [[nodiscard]] Rank rank_of(std::uint32_t number) const {
        return static_cast<Rank>(number < folded_ ? 2 * number : number + folded_);
    }

    BlockWriter& writer_;
    std::uint32_t rank_;
    std::uint32_t size_;
    std::uint32_t power_;
    std::uint32_t folded_;     ///< number of pairs, each represented by one rank
    bool in_scratch_ = false;  ///< true after the first reduction
};

void write_halving(BlockWriter& writer, const GenerateRequest& request) {
    RecursiveHalving(writer, request).write();
}

}  // namespace

Algorithm reduce_scatter_recursive_halving() {
    return {
        .collective = "reduce_scatter",
        .name = "recursive-halving",
        .summary = "pairs exchange blocks of the other's half, at doubling distances",
        .source = "Thakur, Rabenseifner and Gropp, section 4.4",
        .parameters = {{"segments", "1", kSegmentsHelp, "3"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate =
            by_blocks({.collective = "reduce_scatter", .synchronizing = true}, write_halving),
    };
}

}  // namespace weft::collectives
