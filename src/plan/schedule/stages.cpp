// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/stages.hpp"

#include <algorithm>
#include <utility>

#include "plan/schedule/stage_steps.hpp"

namespace weft::plan {

Rank Numbering::outer_of(Rank number) const {
    for (const RankRun& run : runs) {
        if (number < run.count) return run.outer_of(number);
        number -= run.count;
    }
    return kNoNumber;
}

Rank Numbering::number_of(Rank outer_number) const {
    Rank before = 0;
    for (const RankRun& run : runs) {
        const Rank number = run.number_of(outer_number);
        if (number != kNoNumber) return before + number;
        before += run.count;
    }
    return kNoNumber;
}

Rank Remainders::number(Rank group, Rank place) const {
    if (dealt) return place * groups + group;
    return group * (count / groups) + std::min(group, count % groups) + place;
}

Rank Remainders::group_of(Rank number) const {
    if (dealt) return number % groups;
    const Rank smaller_size = count / groups;
    const Rank larger_groups = count % groups;  // the first groups, with one more remainder
    const Rank in_larger = larger_groups * (smaller_size + 1);
    return number < in_larger ? number / (smaller_size + 1)
                              : larger_groups + (number - in_larger) / smaller_size;
}

Rank Remainders::place_of(Rank remainder) const {
    return dealt ? remainder / groups : remainder - number(group_of(remainder), 0);
}

Rank Stages::rank_of(std::uint32_t numbering, Rank number) const {
    while (numbering != 0) {
        number = numberings[numbering].outer_of(number);
        numbering = numberings[numbering].outer;
    }
    return number;
}

std::uint32_t Stages::numbers_of(const Stage& stage) const {
    if (const ShiftStage* shift = std::get_if<ShiftStage>(&stage)) return as_u32(shift->radix);
    const ExchangeStage& exchange = std::get<ExchangeStage>(stage);
    const Rank senders = exchange.count_of(exchange.senders);
    return as_u32(senders + (exchange.remainders_send ? remainders_of(exchange).count_max() : 0));
}

void Stages::add(const Stage& stage) {
    header.slots += numbers_of(stage);
    stages.push_back(stage);
}

std::uint32_t Stages::add_numbering(std::uint32_t outer, std::vector<RankRun> runs) {
    Numbering numbering{.outer = outer, .runs = std::move(runs)};
    for (const RankRun& run : numbering.runs) numbering.count += run.count;
    numberings.push_back(std::move(numbering));
    return as_u32(numberings.size()) - 1;
}

Stages begin_stages(Program header) {
    Stages stages;
    stages.add_numbering(0, {RankRun::adjacent(0, header.size)});
    stages.header = std::move(header);
    return stages;
}

namespace {

/// Makes a program of a rank's steps.
class ProgramSink {
  public:
    explicit ProgramSink(Program header) : builder_(std::move(header)) {}

    void payload(const Block& block) { payload_ = block; }
    template <class PeerOf>
    void put(Rank count, const PeerOf& peer_of, std::uint32_t number, std::uint8_t flags) {
        for (Rank i = 0; i < count; ++i) builder_.put(peer_of(i), number, payload_, flags);
    }
    template <class PeerOf>
    void signal(Rank count, const PeerOf& peer_of, std::uint32_t number, std::uint8_t flags) {
        for (Rank i = 0; i < count; ++i) builder_.signal(peer_of(i), number, flags);
    }
    template <class PeerOf>
    void wait(Rank count, const PeerOf& peer_of, std::uint32_t number, std::uint8_t flags) {
        for (Rank i = 0; i < count; ++i) builder_.wait(peer_of(i), number++, flags);
    }
    void flush() { builder_.flush(); }
    void operand(const Block& block) { operands_.push_back(block); }
    void slots(Block block, Rank count) {
        for (Rank i = 0; i < count; ++i, ++block.index) operands_.push_back(block);
    }
    void combine(const Block& target) {
        if (operands_.size() == 1)
            builder_.copy(target, operands_.front());
        else
            builder_.reduce(target, operands_);
        operands_.clear();
    }
    void copy(const Block& target, const Block& source) { builder_.copy(target, source); }
    void begin_loop() { builder_.begin_loop(); }
    bool next_segment() {
        builder_.end_loop();
        return false;
    }
    Builder& builder() { return builder_; }

  private:
    Builder builder_;
    Block payload_;
    std::vector<Block> operands_;
};

std::uint64_t raises(const Stages& stages, const ExchangeStage& exchange) {
    const auto groups = static_cast<std::uint64_t>(exchange.groups);
    const auto senders = static_cast<std::uint64_t>(exchange.count_of(exchange.senders));
    const auto receivers = static_cast<std::uint64_t>(exchange.count_of(exchange.receivers));
    const auto remainders = static_cast<std::uint64_t>(stages.remainders_of(exchange).count);
    const auto is_both = [&](Rank position) {
        return exchange.sends(position) && exchange.receives(position);
    };
    // Number of members of a group that send and receive. They do not put to themselves.
    const auto both = static_cast<std::uint64_t>((is_both(0) ? exchange.base - 1 : 0) +
                                                 (is_both(exchange.base - 1) ? 1 : 0));
    return groups * (senders * receivers - both) +
           (exchange.remainders_send ? remainders * receivers : 0) +
           (exchange.remainders_receive ? remainders * senders : 0);
}

std::uint64_t raises(const Stages& stages, const ShiftStage& shift) {
    const std::int64_t size = stages.numberings[shift.numbering].count;
    const std::int64_t ahead = std::min(shift.radix - 1, (size - 1) / shift.reach);
    return static_cast<std::uint64_t>(size * ahead);
}

}  // namespace

Program program_of(const Stages& stages, Rank rank) {
    Program header = stages.header;
    header.rank = rank;
    ProgramSink sink(std::move(header));
    sink.builder().reserve_steps(2 * stages.header.slots + 4 * stages.stages.size() + 2);
    StageSteps(stages, sink).write(rank);
    if (stages.interleaves) sink.builder().interleave();
    return std::move(sink.builder()).finish();
}

std::uint64_t raises_of(const Stages& stages, const Stage& stage) {
    return std::visit([&](const auto& kind) { return raises(stages, kind); }, stage);
}

}  // namespace weft::plan
