// SPDX-License-Identifier: BSD-3-Clause
// circulant.cpp - reduce_scatter, broadcast and reduce on a circulant graph, in the fewest rounds.
//
// Idea     The skips of n ranks are n, halved and rounded up until 1 is left. A round has one skip,
//          and every rank puts to the rank that is a skip ahead.
//            reduce_scatter  A rank holds partial sums of its own block and the next ones. In the
//                            round of skip s it sends all but the first s of them. The receiver
//                            adds them to its own first ones.
//            broadcast       The buffer has some blocks. Skips are used in turns, the smallest
//                            first, and a schedule says which block each message carries.
//            reduce          The messages of the broadcast in reverse, with partial sums.
// Source   Traeff, Optimal, non-pipelined reduce-scatter and allreduce algorithms; Traeff, Optimal
//          broadcast schedules in logarithmic time.
// Rounds   reduce_scatter: ceil(log2 n). Messages: n in a round. broadcast, reduce of b blocks: at
//          most b - 1 + ceil(log2 n). Messages: b (n - 1).
// Bytes    reduce_scatter: a rank sends and reduces n - 1 blocks. broadcast: a rank receives each
//          block once. reduce: every rank but the root sends each block once.
// Memory   reduce_scatter: slots for n - 1 blocks and a scratch buffer. broadcast, reduce: a slot
//          of one block for each round and, with segments, a credit for each skip. A scratch buffer
//          to reduce on all ranks but the root.
// Good for reduce_scatter: any n, short and medium blocks; least rounds and least bytes.
//          broadcast, reduce: medium and long buffers on any n. With segments, rounds of
//          neighboring segments overlap, so s segments of b blocks pass like s * b blocks.
// Holds    Only reduce_scatter is synchronizing. Each block is reduced once, but not in rank order,
//          so operations must commute. A schedule is computed for the rank and its receivers only,
//          in O(log^2 n) steps.
// Next     allreduce/generalized.cpp, which is the circulant allreduce with r = 0;
//          bruck.cpp, whose allgather has the rounds and bytes of the circulant one.
#include <algorithm>
#include <cmath>

#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

using plan::Block;

/// Returns the skips, the smallest first; the last one is the number of ranks.
std::vector<Rank> skips_of(Rank size) {
    std::vector<Rank> skips{size};
    while (skips.back() > 1) skips.push_back(skips.back() - skips.back() / 2);
    std::ranges::reverse(skips);
    return skips;
}

void write_halving(BlockWriter& writer, const GenerateRequest& request) {
    const auto [rank, size] = std::pair{request.rank, request.size};
    const auto own = as_u32(rank);
    const auto block_at = [&, rank = rank, size = size](Rank ahead) {
        return as_u32((rank + ahead) % size);
    };
    if (size == 1) return writer->copy(writer.output(0), writer.input(0));
    std::uint32_t number = 0;
    Rank summed = 0;  // blocks, from the own one on, whose sums are in scratch
    for (Rank held = size; held > 1; ++number) {
        const Rank kept = held - held / 2;
        const Rank moved = held - kept;
        std::vector<Block> sent;
        const Rank first_input = std::max(kept, summed);  // earlier blocks are sent from scratch
        if (first_input > kept)
            sent = writer.wrapped(writer.scratch(0, block_at(kept), as_u32(first_input - kept)));
        if (held > first_input)
            std::ranges::copy(
                writer.wrapped(writer.input(block_at(first_input), as_u32(held - first_input))),
                std::back_inserter(sent));
        writer->reserve_capacity(number, as_u32(moved));
        writer->put((rank + kept) % size, number, sent);
        writer->wait((rank + size - kept) % size, number);
        const std::uint32_t count = as_u32(moved);
        const auto target = kept == 1 ? writer.output(own) : writer.scratch(0, own, count);
        auto operands =
            writer.wrapped(summed > 0 ? writer.scratch(0, own, count) : writer.input(own, count));
        std::ranges::copy(writer.wrapped(writer.slot(number, own, count)),
                          std::back_inserter(operands));
        writer->reduce_lists(writer.wrapped(target), operands);
        summed = summed == 0 ? moved : kept;
        held = kept;
    }
}

/// A message of a broadcast that one rank sends or receives.
struct Message {
    std::uint32_t round = 0;
    std::uint32_t skip = 0;  ///< index of the distance from sender to receiver
    std::uint32_t block = 0;
    bool sent = false;
};

/// Order in which a rank receives blocks. Skips are used in turns. In turn t, skip k carries block
/// blocks()[k] + t * skips. A rank receives one block of a turn in that turn, and the others in the
/// next one. A rank's number is its distance from the root.
class BlockOrder {
  public:
    BlockOrder(const std::vector<Rank>& skips, Rank number)
        : skips_(skips),
          count_(std::ssize(skips) - 1),
          wrapped_(skips.back() + number),
          bound_(2 * skips.back()),
          used_(skips.size(), false) {
        const std::int64_t first = first_block(number);
        used_[static_cast<std::size_t>(first)] = true;
        search(0, count_);
        for (std::int64_t& block : blocks_) block = block == count_ ? first : block - count_;
    }
    [[nodiscard]] const std::vector<std::int64_t>& blocks() const { return blocks_; }

  private:
    /// Returns the index of the last skip on the path of largest skips from the root.
    [[nodiscard]] std::int64_t first_block(Rank left) const {
        for (std::int64_t k = count_; k-- > 0;) {
            if (skip(k) == left) return k;
            if (skip(k) < left) left -= static_cast<Rank>(skip(k));
        }
        return count_;
    }
    /// Depth-first search over paths of skips that end `from` ranks after the root. `last` is the
    /// last skip of the path.
    void search(std::int64_t from, std::int64_t last) {
        const auto found = [&] { return std::ssize(blocks_); };
        for (; last >= 0 && found() < count_; --last) {
            const std::int64_t to = from + skip(last);
            if (used_[static_cast<std::size_t>(last)] || to > wrapped_ - skip(found()) ||
                to >= bound_)
                continue;
            if (to <= wrapped_ - skip(found() + 1)) {
                search(to, last);
                if (found() == count_) return;
            }
            if (from > wrapped_ - skip(found() + 1)) return;
            bound_ = to;
            blocks_.push_back(last);
            used_[static_cast<std::size_t>(last)] = true;
        }
    }
    [[nodiscard]] std::int64_t skip(std::int64_t index) const {
        return skips_[static_cast<std::size_t>(index)];
    }

    const std::vector<Rank>& skips_;
    std::int64_t count_;    ///< number of skips, without the last one
    std::int64_t wrapped_;  ///< this rank's number plus the number of ranks
    std::int64_t bound_;    ///< all later paths end before this number
    std::vector<bool> used_;
    std::vector<std::int64_t> blocks_;
};

/// Messages of one rank in the broadcast of `blocks` blocks.
class BlockSchedule {
  public:
    BlockSchedule(BlockWriter& writer, const GenerateRequest& request, std::uint32_t blocks)
        : writer_(writer),
          root_(request.root),
          rank_(request.rank),
          size_(request.size),
          blocks_(blocks) {
        const Rank own = (rank_ - root_ + size_) % size_;
        messages_ = received_by(own);
        for (std::uint32_t k = 0; k < count_; ++k)
            for (Message message : received_by((own + skips_[k]) % size_)) {
                message.sent = true;
                if (message.skip == k) messages_.push_back(message);
            }
        std::ranges::sort(messages_, {}, [](const Message& message) {
            return std::pair{message.round, !message.sent};
        });
    }

    void broadcast() {
        const Block whole = writer_.output(0, blocks_);
        if (rank_ == root_) writer_->copy(whole, writer_.input(0, blocks_));
        await_credits(kAhead);
        for (const Message& message : messages_) {
            const Block block = writer_.output(message.block);
            if (message.sent) {
                writer_->put(peer(message.skip, kAhead), message.round, block);
            } else {
                writer_->wait(peer(message.skip, kBehind), message.round);
                writer_->copy(block, writer_.slot(message.round, message.block));
            }
        }
        finish(kAhead);
    }

    void reduce() {
        std::vector<bool> summed(blocks_, false);
        const auto kept = [&](std::uint32_t block) {
            return rank_ == root_ ? writer_.output(block) : writer_.scratch(0, block);
        };
        const auto value = [&](std::uint32_t block) {
            return summed[block] ? kept(block) : writer_.input(block);
        };
        if (size_ == 1) writer_->copy(writer_.output(0, blocks_), writer_.input(0, blocks_));
        await_credits(kBehind);
        std::ranges::reverse(messages_);
        for (const auto& [round, skip, block, sent] : messages_) {
            if (!sent) {
                writer_->put(peer(skip, kBehind), round, value(block));
            } else {
                writer_->wait(peer(skip, kAhead), round);
                writer_->reduce(kept(block), {value(block), writer_.slot(round, block)});
                summed[block] = true;
            }
        }
        finish(kBehind);
    }

  private:
    static constexpr bool kAhead = true;  ///< towards the rank that is a skip ahead
    static constexpr bool kBehind = false;

    /// Returns the messages that a number receives in the broadcast, in the order of rounds.
    [[nodiscard]] std::vector<Message> received_by(Rank number) const {
        std::vector<Message> messages;
        if (number == 0) return messages;
        const BlockOrder order(skips_, number);
        std::vector<bool> has(blocks_, false);
        // Rounds that the first turn omits, so that the last round ends a turn.
        const std::uint32_t left_out = (count_ - (blocks_ - 1) % count_) % count_;
        for (std::uint32_t round = 0; round < rounds(); ++round) {
            const std::uint32_t turn = round + left_out;
            const std::int64_t of_turn =
                order.blocks()[turn % count_] + std::int64_t{turn / count_} * count_ - left_out;
            if (of_turn < 0) continue;
            const auto block = as_u32(std::min<std::int64_t>(of_turn, blocks_ - 1));
            if (!has[block]) messages.push_back({round, turn % count_, block});
            has[block] = true;
        }
        return messages;
    }
    [[nodiscard]] std::uint32_t rounds() const { return blocks_ - 1 + count_; }
    [[nodiscard]] Rank peer(std::uint32_t skip, bool ahead) const {
        return (rank_ + (ahead ? skips_[skip] : size_ - skips_[skip])) % size_;
    }

    // The credits of a skip follow the numbers of all rounds. `puts`: direction of puts, kAhead in
    // a broadcast and kBehind in a reduce.
    [[nodiscard]] bool uses(std::uint32_t skip, bool sent) const {
        return std::ranges::any_of(messages_, [&](const Message& message) {
            return message.skip == skip && message.sent == sent;
        });
    }
    void await_credits(bool puts) {
        for (std::uint32_t skip = 0; skip < count_; ++skip)
            if (uses(skip, puts)) writer_.await_credit(peer(skip, puts), rounds() + skip);
    }
    void finish(bool puts) {
        if (size_ == 1) return;
        for (std::uint32_t skip = 0; skip < count_; ++skip)
            if (uses(skip, !puts)) writer_.give_credit(peer(skip, !puts), rounds() + skip);
        writer_->reserve_capacities(0, rounds(), 1);
        writer_.reserve_credits(rounds(), count_);
    }

    BlockWriter& writer_;
    Rank root_;
    Rank rank_;
    Rank size_;
    std::uint32_t blocks_;
    std::vector<Rank> skips_ = skips_of(size_);
    std::uint32_t count_ = as_u32(std::ssize(skips_) - 1);  ///< without the last skip
    std::vector<Message> messages_;
};

std::uint32_t skip_count(Rank size) {
    return as_u32(std::bit_width(as_u32(size) - 1));
}

/// Returns the largest number of blocks. Each round needs a put target.
std::int64_t blocks_max(Rank size) {
    constexpr std::int64_t kMoreThanRanks = 8;
    return size + kMoreThanRanks;
}

/// Returns specs with two and three segments, which hide latencies. A round takes a latency and the
/// messages of all segments, so the best number of blocks is sqrt(buffer * (skips - 1) / (latency +
/// messages)), as in best_pieces() of candidates.cpp.
std::vector<std::string> variants(const CandidateRequest& request) {
    constexpr double kBlocksTried = 64;  // more blocks make long programs
    const double most = std::min(kBlocksTried, static_cast<double>(blocks_max(request.size)));
    const std::int64_t message = request.put_ps - request.latency_ps;
    std::vector<std::string> specs;
    for (const std::int64_t segments : {2, 3}) {
        const std::int64_t round =
            std::max<std::int64_t>(1, request.latency_ps + segments * message);
        const double square = static_cast<double>(request.buffer_ps) *
                              (std::max(2U, skip_count(request.size)) - 1) /
                              static_cast<double>(round);
        const auto blocks =
            static_cast<std::int64_t>(std::min(most, std::round(std::sqrt(square))));
        if (blocks > 1)
            specs.push_back(fmt::format("circulant:blocks={},segments={}", blocks, segments));
    }
    return specs;
}

base::Result<plan::Program> generate_schedule(const GenerateRequest& request) {
    const std::uint32_t blocks =
        as_u32(WEFT_TRY(number_parameter(*request.spec, "blocks",
                                         {.fallback = std::max(1U, skip_count(request.size)),
                                          .least = 1,
                                          .most = blocks_max(request.size)})));
    const bool reduces = request.algorithm->collective == "reduce";
    return program_by_blocks({.blocks = blocks}, request,
                             [&](BlockWriter& writer, const GenerateRequest& cut) {
                                 BlockSchedule schedule(writer, cut, blocks);
                                 reduces ? schedule.reduce() : schedule.broadcast();
                             });
}

}  // namespace

Algorithm circulant(std::string_view collective) {
    Algorithm algorithm{.collective = collective,
                        .name = "circulant",
                        .parameters = {kTriedSegments},
                        .properties = {.bit_identical = true}};
    if (collective == "reduce_scatter") {
        algorithm.summary = "the number of blocks that a rank holds is halved each round";
        algorithm.source = "Traeff, Optimal, non-pipelined reduce-scatter and allreduce algorithms";
        algorithm.properties.synchronizing = true;
        algorithm.generate = by_blocks({}, write_halving);
        return algorithm;
    }
    const bool reduces = collective == "reduce";
    algorithm.summary = reduces ? "the broadcast in reverse: blocks are combined on their way"
                                : "blocks follow each other in the fewest rounds";
    algorithm.source = "Traeff, Optimal broadcast schedules in logarithmic time";
    algorithm.parameters.insert(
        algorithm.parameters.begin(),
        {"blocks", "log2 of ranks", "blocks of a segment, which follow each other", "1,4,7"});
    algorithm.properties.ordered = !reduces;
    algorithm.generate = &generate_schedule;
    algorithm.variants = &variants;
    return algorithm;
}

}  // namespace weft::collectives
