// SPDX-License-Identifier: BSD-3-Clause
// recursive_halving.cpp - reduce_scatter by recursive halving.
//
// Idea     In step k numbers w and w xor 2^k exchange blocks. Each sends the blocks of the numbers
//          that agree with the peer in bit k, and reduces the blocks of the numbers that agree with
//          itself. At the end a rank has its own block.
//          If n is no power of two, the first 2r ranks form r pairs, where r = n - p and p is the
//          power of two below n; a pair shares a number. The blocks form two halves. The even rank
//          of a pair works on the first half and the odd rank on the second half; each first gets
//          the other's values of its half. A rank without a pair works on both halves.
// Source   Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
//          MPICH, section 4.4; its pairs fold onto one rank. Here the first steps are between the
//          nearest ranks, which keeps the rank order. The blocks of a message are 2^k apart.
// Rounds   log2 p, and 1 more if n is no power of two.
// Bytes    A rank sends n - 1 blocks, for any n. It also reduces n - 1 blocks.
// Memory   Slots for n - 1 blocks, or for up to 2n if n is no power of two; one scratch buffer.
// Good for Short and medium blocks; operations that do not commute.
// Holds    Synchronizing. Combines in rank order.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

using plan::Block;

constexpr std::uint32_t kFold = 0;
/// First put number of the steps. Each step has one number for each half.
constexpr std::uint32_t kFirstStep = 1;

/// Halves of the blocks that a rank works on.
enum Halves : std::uint32_t { first_half = 1, second_half = 2, both_halves = 3 };

class RecursiveHalving {
  public:
    RecursiveHalving(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer), rank_(as_u32(request.rank)), size_(as_u32(request.size)) {}

    void write() {
        const bool in_pair = rank_ < 2 * pairs_;
        if (in_pair) fold();
        halve(in_pair ? rank_ / 2 : rank_ - pairs_);
        if (size_ == 1) writer_->copy(writer_.output(0), writer_.input(0));
        reserve();
    }

  private:
    /// Buffer of blocks. `value`: scratch, or the input before the first reduction. `result`: the
    /// output for this rank's block.
    enum class Home : std::uint8_t { value, scratch, slot, result };
    /// Blocks of all numbers that equal `number` in the bits below `distance`, a power of two.
    struct Residue {
        std::uint32_t number = 0;
        std::uint32_t distance = 1;
        Halves halves = both_halves;
    };

    void fold() {
        const bool even = rank_ % 2 == 0;
        const auto other = static_cast<Rank>(even ? rank_ + 1 : rank_ - 1);
        const Halves own = even ? first_half : second_half;
        writer_->put(other, kFold,
                     list_of({.halves = even ? second_half : first_half}, Home::value));
        writer_->wait(other, kFold);
        combine({.halves = own}, kFold, !even, Home::scratch);
        in_scratch_ = true;
    }

    void halve(std::uint32_t number) {
        std::uint32_t slot = kFirstStep;
        for (std::uint32_t bit = 1; bit < power_; bit *= 2, slot += 2) {
            const std::uint32_t other = number ^ bit;
            const std::vector<Halves> messages = messages_of(number, other);
            for (const Halves halves : messages) {
                const std::vector<Block> sent = list_of({other, 2 * bit, halves}, Home::value);
                if (!sent.empty())
                    writer_->put(rank_of(other, halves), slot + place_of(halves), sent);
            }
            for (const Halves halves : messages) {
                const Residue kept{number, 2 * bit, halves};
                if (list_of(kept, Home::value).empty()) continue;
                writer_->wait(rank_of(other, halves), slot + place_of(halves));
                combine(kept, slot + place_of(halves), other < number,
                        2 * bit == power_ ? Home::result : Home::scratch);
            }
            in_scratch_ = true;
        }
    }
    /// Returns the halves in each message between two numbers.
    [[nodiscard]] std::vector<Halves> messages_of(std::uint32_t number, std::uint32_t other) const {
        if (number < pairs_) return {rank_ % 2 == 0 ? first_half : second_half};
        if (other < pairs_) return {first_half, second_half};
        return {both_halves};
    }
    [[nodiscard]] static std::uint32_t place_of(Halves halves) {
        return halves == second_half ? 1 : 0;
    }

    /// Combines received blocks with this rank's blocks. `before`: received blocks are first.
    void combine(const Residue& residue, std::uint32_t slot, bool before, Home home) {
        const std::vector<Block> received = list_of(residue, Home::slot, slot);
        const std::vector<Block> own = list_of(residue, Home::value);
        std::vector<Block> operands = before ? received : own;
        const std::vector<Block>& second = before ? own : received;
        operands.insert(operands.end(), second.begin(), second.end());
        writer_->reduce_lists(list_of(residue, home), operands);
    }

    /// Returns the blocks of a residue as at most three strided blocks: of the even ranks of pairs,
    /// of their odd ranks, and of ranks without a pair. The latter are in the first half if their
    /// number is below border_.
    [[nodiscard]] std::vector<Block> list_of(const Residue& residue, Home home,
                                             std::uint32_t slot = 0) const {
        const std::uint32_t distance = residue.distance;
        const std::uint32_t first = residue.number % distance;
        const std::uint32_t paired = count_below(pairs_, first, distance);
        const std::uint32_t lower = count_below(border_, first, distance);
        const std::uint32_t all = count_below(power_, first, distance);
        std::vector<Block> list;
        const auto add = [&](std::uint32_t block, std::uint32_t count, std::uint32_t stride) {
            if (count != 0) list.push_back(blocks_in(home, block, count, stride, slot));
        };
        const auto add_alone = [&](std::uint32_t from, std::uint32_t to) {
            add(first + from * distance + pairs_, to - from, distance);
        };
        if ((residue.halves & first_half) != 0) add(2 * first, paired, 2 * distance);
        if ((residue.halves & second_half) != 0) add(2 * first + 1, paired, 2 * distance);
        add_alone((residue.halves & first_half) != 0 ? paired : lower,
                  (residue.halves & second_half) != 0 ? all : lower);
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
        if (home == Home::result) return writer_.output(first);
        if (home == Home::value && !in_scratch_) return every(writer_.input(first, count));
        return every(writer_.scratch(0, first, count));
    }

    /// Reserves the largest number of blocks in any rank's message.
    void reserve() {
        if (size_ == 1) return;
        const std::uint32_t upper = power_ - border_;
        const std::uint32_t lower = power_ - pairs_ - upper;
        writer_->reserve_capacity(kFold, pairs_ == 0 ? 0 : pairs_ + std::max(lower, upper));
        std::uint32_t slot = kFirstStep;
        for (std::uint32_t distance = 2; distance <= power_; distance *= 2, slot += 2) {
            const auto most = [&](std::uint32_t numbers) {
                return (numbers + distance - 1) / distance;
            };
            const bool two_alone = power_ - pairs_ > 1;
            writer_->reserve_capacity(
                slot,
                most(pairs_) + (two_alone ? most(pairs_) + most(power_ - pairs_) : most(lower)));
            writer_->reserve_capacity(slot + 1, pairs_ == 0 ? 0 : most(pairs_) + most(upper));
        }
    }
    [[nodiscard]] Rank rank_of(std::uint32_t number, Halves halves) const {
        if (number >= pairs_) return static_cast<Rank>(number + pairs_);
        return static_cast<Rank>(2 * number + (halves == second_half ? 1 : 0));
    }

    BlockWriter& writer_;
    std::uint32_t rank_;
    std::uint32_t size_;
    std::uint32_t power_ = std::bit_floor(size_);
    std::uint32_t pairs_ = size_ - power_;
    /// Least number without a pair whose block is in the second half.
    std::uint32_t border_ = pairs_ == 0 ? power_ : pairs_ + (power_ - pairs_ + 1) / 2;
    bool in_scratch_ = false;  ///< true after the first reduction
};

void write_halving(BlockWriter& writer, const GenerateRequest& request) {
    RecursiveHalving(writer, request).write();
}

}  // namespace

Algorithm reduce_scatter_recursive_halving() {
    return {.collective = "reduce_scatter",
            .name = "recursive-halving",
            .summary = "pairs exchange the blocks that the other reduces, at doubling distances",
            .source = "Thakur, Rabenseifner and Gropp, section 4.4",
            .parameters = {kTriedSegments},
            .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
            .generate = by_blocks({}, write_halving)};
}

}  // namespace weft::collectives
