// SPDX-License-Identifier: BSD-3-Clause
// bine.cpp - trees (`bine`) and exchanges of blocks (`swing`) over distances 1, 1, 3, 5, 11, ..
// instead of powers of two.
//
// Idea     In step s the partner of an even rank is (1 - (-2)^(s+1)) / 3 ranks ahead, the
//          partner of an odd rank is as far behind. The steps from s on reach 2^(steps - s) ranks
//          from any rank, each once.
//            swing  In step s a rank sends the blocks of the ranks that its partner reaches in
//                   later steps, and combines the blocks of the ranks that it reaches. Then the
//                   steps run in reverse order and distribute the results.
//            bine   From the last step to the first one, each rank that has the buffer sends it to
//                   its partner. reduce: the same messages in reverse.
// Source   De Sensi et al., Swing: short-cutting rings for higher bandwidth allreduce; De Sensi et
//          al., Bine trees.
// Rounds   log2 n; swing allreduce: 2 log2 n. Messages: n in a round of a swing, n - 1 of a tree.
// Bytes    swing: a rank sends n - 1 blocks, in an allreduce twice; it reduces n - 1 blocks. bine:
//          as the binomial tree.
// Memory   swing: slots for n - 1 blocks, in an allreduce twice; a scratch buffer for a
//          reduce_scatter. bine: one slot, or one for each child in a reduction; a scratch buffer.
// Good for Rings, tori and networks with few long links: partners are at 2/3 of the distance of a
//          butterfly, and neighbors on both sides are used.
// Holds    For powers of two. Swing is synchronizing. Each block is reduced once, so results are
//          bit-identical, but not in rank order. A swing is generated in O(n log n) time.
// Next     generate/tree.hpp for the steps of trees; generate/range_exchange.hpp for the butterfly.
#include <bit>

#include "collectives/entries.hpp"
#include "collectives/generate/tree.hpp"

namespace weft::collectives {

namespace {

using plan::Block;

std::uint32_t steps_of(Rank size) {
    return as_u32(std::bit_width(as_u32(size)) - 1);
}

/// Returns the partner of a number in a step.
Rank partner(Rank number, std::uint32_t step, Rank size) {
    const std::int64_t power = (step % 2 == 0 ? -2 : 2) * (std::int64_t{1} << step);
    const std::int64_t ahead = (1 - power) / 3;
    const std::int64_t to = number % 2 == 0 ? number + ahead : number - ahead;
    return static_cast<Rank>((to % size + size) % size);
}

/// Steps of one rank. `kept` returns the blocks that hold sums.
class Swing {
  public:
    using BlocksOf = std::function<Block(std::uint32_t first, std::uint32_t count)>;

    Swing(BlockWriter& writer, const GenerateRequest& request, BlocksOf kept)
        : writer_(writer), rank_(request.rank), size_(request.size), kept_(std::move(kept)) {}

    /// Reduces the blocks; the own one is finished in result(block).
    void reduce_scatter(const BlocksOf& result) {
        const BlocksOf input = [&](std::uint32_t first, std::uint32_t count) {
            return writer_.input(first, count);
        };
        const std::uint32_t steps = steps_of(size_);
        for (std::uint32_t step = 0; step < steps; ++step) {
            const BlocksOf& value = step == 0 ? input : kept_;
            const Rank peer = partner(rank_, step, size_);
            writer_->put(peer, step, blocks(peer, step + 1, value));
            writer_->wait(peer, step);
            std::vector<Block> operands = blocks(rank_, step + 1, value);
            for (const Block& block : blocks(rank_, step + 1, slot(step)))
                operands.push_back(block);
            writer_->reduce_lists(blocks(rank_, step + 1, step + 1 == steps ? result : kept_),
                                  operands);
        }
    }
    /// Distributes finished blocks, with numbers from `first` on.
    void allgather(std::uint32_t first) {
        for (std::uint32_t step = steps_of(size_); step-- > 0;) {
            const Rank peer = partner(rank_, step, size_);
            writer_->put(peer, first + step, blocks(rank_, step + 1, kept_));
            writer_->wait(peer, first + step);
            writer_->copy(blocks(peer, step + 1, kept_),
                          blocks(peer, step + 1, slot(first + step)));
        }
    }

  private:
    [[nodiscard]] BlocksOf slot(std::uint32_t number) const {
        return [this, number](std::uint32_t first, std::uint32_t count) {
            return writer_.slot(number, first, count);
        };
    }
    /// Returns the blocks of the ranks that `from` reaches in the steps from `step` on, as runs.
    [[nodiscard]] std::vector<Block> blocks(Rank from, std::uint32_t step,
                                            const BlocksOf& in) const {
        std::vector<Rank> reached{from};
        for (std::uint32_t later = steps_of(size_); later-- > step;)
            for (std::size_t i = reached.size(); i-- > 0;)
                reached.push_back(partner(reached[i], later, size_));
        std::ranges::sort(reached);
        std::vector<Block> runs;
        for (std::size_t first = 0, next = 1; first < reached.size(); first = next++) {
            while (next < reached.size() && reached[next] == reached[next - 1] + 1) ++next;
            runs.push_back(in(as_u32(reached[first]), as_u32(next - first)));
        }
        return runs;
    }

    BlockWriter& writer_;
    Rank rank_;
    Rank size_;
    BlocksOf kept_;
};

void write_allreduce(BlockWriter& writer, const GenerateRequest& request) {
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    const Swing::BlocksOf output = [&](auto first, auto count) {
        return writer.output(first, count);
    };
    Swing swing(writer, request, output);
    swing.reduce_scatter(output);
    writer->flush();  // the next writes to the output replace sources of puts
    swing.allgather(steps_of(request.size));
}
void write_allgather(BlockWriter& writer, const GenerateRequest& request) {
    const auto own = as_u32(request.rank);
    writer->copy(writer.output(own), writer.input(own));
    Swing swing(writer, request,
                [&](auto first, auto count) { return writer.output(first, count); });
    swing.allgather(0);
}
void write_reduce_scatter(BlockWriter& writer, const GenerateRequest& request) {
    if (request.size == 1) return writer->copy(writer.output(0), writer.input(0));
    Swing swing(writer, request,
                [&](auto first, auto count) { return writer.scratch(0, first, count); });
    swing.reduce_scatter([&](auto first, auto count) { return writer.output(first, count); });
}

/// Returns the step in which a number receives the buffer, or steps_of(size) for 0. The distances
/// of steps are sums of powers of -2, so the digits of the number in base -2 change at its steps.
std::uint32_t step_of(Rank number, Rank size) {
    constexpr std::uint32_t kOdd = 0xAAAAAAAA;
    const std::uint32_t digits = ((as_u32(number) + kOdd) ^ kOdd) & (as_u32(size) - 1);
    return std::min(steps_of(size), as_u32(std::countr_zero(digits ^ digits >> 1)));
}

/// Returns the neighbors of a rank in the tree.
patterns::TreePlace bine_place(patterns::RelativeRank own) {
    const Rank number = own.number();
    const std::uint32_t from = step_of(number, own.size);
    patterns::TreePlace place{.children_max = steps_of(own.size)};
    if (number != 0) {
        const Rank parent = partner(number, from, own.size);
        place.parent = own.rank_of(parent);
        place.child_index = step_of(parent, own.size) - 1 - from;
    }
    for (std::uint32_t step = from; step-- > 0;)
        place.children.push_back(own.rank_of(partner(number, step, own.size)));
    return place;
}

void write_broadcast(BlockWriter& writer, const GenerateRequest& request) {
    const auto place = bine_place({request.rank, request.size, request.root});
    write_tree(writer, place, {});
    if (request.size == 1) return;
    writer->reserve_capacity(0, 1);
    writer.reserve_credits(1, place.children_max);
}
void write_reduce(BlockWriter& writer, const GenerateRequest& request) {
    const auto place = bine_place({request.rank, request.size, request.root});
    reduce_up(writer, place, {.credit = place.children_max});
    writer->reserve_capacities(0, place.children_max, 1);
    writer.reserve_credits(place.children_max, request.size > 1 ? 1 : 0);
}

}  // namespace

Algorithm bine(std::string_view collective) {
    const bool reduces = collective == "reduce";
    return {.collective = collective,
            .name = "bine",
            .summary = "along a tree over distances 1, 1, 3, 5, 11, ..",
            .source = "De Sensi et al., Bine trees",
            .parameters = {kTriedSegments},
            .properties = {.ordered = !reduces, .bit_identical = true, .power_of_two = true},
            .generate = by_blocks({.blocks = 1, .one_stage = true},
                                  reduces ? write_reduce : write_broadcast)};
}

Algorithm swing(std::string_view collective) {
    struct SwingEntry {
        std::string_view collective;
        std::string_view summary;
        WriteSteps write;
    };
    static constexpr SwingEntry kEntries[] = {
        {"allreduce", "blocks are reduced and distributed over distances 1, 1, 3, 5, 11, ..",
         write_allreduce},
        {"allgather", "blocks are exchanged over distances 1, 1, 3, 5, 11, ..", write_allgather},
        {"reduce_scatter", "blocks are reduced over distances 1, 1, 3, 5, 11, ..",
         write_reduce_scatter}};
    const SwingEntry& entry = *std::ranges::find(kEntries, collective, &SwingEntry::collective);
    return {.collective = collective,
            .name = "swing",
            .summary = entry.summary,
            .source = "De Sensi et al., Swing",
            .parameters = {kTriedSegments},
            .properties = {.ordered = collective == "allgather",
                           .bit_identical = true,
                           .synchronizing = true,
                           .power_of_two = true},
            .generate = by_blocks({}, entry.write)};
}

}  // namespace weft::collectives
