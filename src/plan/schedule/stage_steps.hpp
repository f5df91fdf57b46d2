// SPDX-License-Identifier: BSD-3-Clause
// stage_steps.hpp - passes the steps of one rank of an algorithm in stages to a sink.
//
// Idea     The steps of a rank are derived from the stages and passed to a *sink* in order. A sink
//          that stores them makes a program (stages.cpp); a sink that needs only their costs stores
//          no step (tools/simulate/stream.cpp).
// Why      Some simulations need the steps of millions of ranks, each only once. The runtime's
//          programs are made here, too, so simulated and executed steps are equal.
// Holds    The time is proportional to the number of steps and of stages. One StageSteps serves
//          many ranks; only its construction allocates memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/stages.hpp"

namespace weft::plan {

/// Receiver of a rank's steps. put() and signal() add `count` steps to the peers peer_of(0),
/// peer_of(1), ... under one number; wait() adds waits for such peers under increasing numbers.
/// payload() sets the payload of the next puts. operand() adds an operand of the next combine().
/// slots() adds `count` operands, in slots with increasing numbers. Steps between begin_loop() and
/// next_segment() are repeated while next_segment() returns true.
template <class Sink>
concept StepSink = requires(Sink sink, Rank count, Rank (*peer_of)(Rank), std::uint32_t number,
                            const Block& block, std::uint8_t flags) {
    sink.payload(block);
    sink.put(count, peer_of, number, flags);
    sink.signal(count, peer_of, number, flags);
    sink.wait(count, peer_of, number, flags);
    sink.flush();
    sink.operand(block);
    sink.slots(block, count);
    sink.combine(block);
    sink.copy(block, block);
    sink.begin_loop();
    { sink.next_segment() } -> std::same_as<bool>;
};

template <StepSink Sink>
class StageSteps {
  public:
    /// `stages` must outlive this object.
    StageSteps(const Stages& stages, Sink& sink)
        : stages_(stages), sink_(sink), advance_(stages.header.segments > 1 ? 1 : 0) {
        std::uint32_t number = 0;
        for (const Stage& stage : stages.stages) {
            first_numbers_.push_back(number);
            number += stages.numbers_of(stage);
        }
        numbers_.resize(stages.numberings.size());
    }

    /// Passes all steps of a rank.
    void write(Rank rank) {
        numbers_[0] = rank;
        for (std::size_t i = 1; i < numbers_.size(); ++i) {
            const Numbering& numbering = stages_.numberings[i];
            const Rank outer = numbers_[numbering.outer];
            numbers_[i] = outer == kNoNumber ? kNoNumber : numbering.number_of(outer);
        }
        if (advance_ == 0) return write_stages();
        sink_.begin_loop();
        do {
            write_stages();
        } while (sink_.next_segment());
    }

  private:
    void write_stages() {
        holds_output_ = false;
        unflushed_ = false;
        divided_by_ = 0;
        for (std::size_t i = 0; i < stages_.stages.size(); ++i) {
            first_number_ = first_numbers_[i];
            const Stage& stage = stages_.stages[i];
            if (const ExchangeStage* exchange = std::get_if<ExchangeStage>(&stage))
                write(*exchange);
            else
                write(std::get<ShiftStage>(stage));
        }
        if (stages_.carries && !holds_output_) sink_.copy(in_loop(output()), in_loop(input()));
    }

    void write(const ExchangeStage& exchange) {
        const Rank number = numbers_[exchange.numbering];
        if (number != kNoNumber && number < exchange.members()) {
            write_member(exchange, number);
        } else if (exchange.remainders != kNoRemainders &&
                   numbers_[exchange.remainders] != kNoNumber) {
            write_remainder(exchange, numbers_[exchange.remainders]);
        }
    }

    void write_member(const ExchangeStage& in, Rank number) {
        // A copy, so that the compiler keeps the members in registers across calls of the sink.
        const ExchangeStage exchange = in;
        const Rank base = exchange.base;
        const Rank position = position_of(exchange, number);
        const Rank first = number - position * exchange.stride;
        const auto member = [&](Rank j) { return rank_of(exchange, first + j * exchange.stride); };
        const bool has_remainders = exchange.remainders != kNoRemainders;
        const Remainders remainders = stages_.remainders_of(exchange);
        const Rank group = has_remainders ? exchange.group_of(number) : 0;
        const Rank remainder_count = has_remainders ? remainders.count_in(group) : 0;
        const auto remainder = [&](Rank k) {
            return stages_.rank_of(exchange.remainders, remainders.number(group, k));
        };
        // Publishing gains nothing for a single receiver.
        const std::uint8_t flags = exchange.receivers == Members::last ? 0 : kShared;
        if (exchange.sends(position)) {
            const Rank own_slot = sender_number(exchange, position);
            const auto [begin, end] = range_of(exchange.receivers, base);
            begin_sends();
            send(std::max(begin, position + 1), end, member, own_slot, flags);
            send(begin, std::min(end, position), member, own_slot, flags);
            if (exchange.remainders_receive) send(0, remainder_count, remainder, own_slot, flags);
        }
        if (!exchange.receives(position)) return;
        if (exchange.remainders_send)
            receive(0, remainder_count, remainder, exchange.count_of(exchange.senders), flags);
        const auto [begin, end] = range_of(exchange.senders, base);
        receive(begin, std::min(end, position), member, sender_number(exchange, begin), flags);
        if (exchange.keeps_own && stages_.carries) sink_.operand(value());
        const Rank next = std::max(begin, position + 1);
        receive(next, end, member, sender_number(exchange, next), flags);
        combine();
    }

    void write_remainder(const ExchangeStage& exchange, Rank number) {
        const Remainders remainders = stages_.remainders_of(exchange);
        const Rank group = remainders.group_of(number);
        const auto member = [&](Rank j) { return rank_of(exchange, exchange.member(group, j)); };
        if (exchange.remainders_send) {
            const Rank own_slot = exchange.count_of(exchange.senders) + remainders.place_of(number);
            const auto [begin, end] = range_of(exchange.receivers, exchange.base);
            begin_sends();
            send(begin, end, member, own_slot, kShared);
        }
        if (!exchange.remainders_receive) return;
        const auto [begin, end] = range_of(exchange.senders, exchange.base);
        receive(begin, end, member, sender_number(exchange, begin), kShared);
        combine();
    }

    void write(const ShiftStage& shift) {
        const std::int64_t size = stages_.numberings[shift.numbering].count;
        const Rank own = numbers_[shift.numbering];
        const std::uint8_t flags = shift.aligned ? kShared : 0;
        const auto number = [&](std::int64_t sender, std::int64_t j) {
            const std::int64_t digit = sender / shift.reach % shift.radix;
            return first_number_ + as_u32(shift.aligned ? digit : j - 1);
        };
        const auto rank = [&](std::int64_t other) {
            return stages_.rank_of(shift.numbering, static_cast<Rank>(other));
        };
        if (own == kNoNumber) return;
        for (std::int64_t j = 1; j < shift.radix && j * shift.reach < size; ++j)
            sink_.signal(
                1, [&](Rank) { return rank((own + j * shift.reach) % size); }, number(own, j),
                flags);
        for (std::int64_t j = 1; j < shift.radix && j * shift.reach < size; ++j) {
            const std::int64_t sender = (own - j * shift.reach + size) % size;
            sink_.wait(
                1, [&](Rank) { return rank(sender); }, number(sender, j), flags);
        }
    }

    /// Returns the position of a member. Usually, a stage's stride is the stride times the base of
    /// the previous stage; then the previous quotient is reused to save a division.
    Rank position_of(const ExchangeStage& exchange, Rank number) {
        if (exchange.stride != divided_by_ || exchange.numbering != divided_in_)
            quotient_ = number / exchange.stride;
        const Rank next_quotient = quotient_ / exchange.base;
        const Rank position = quotient_ - next_quotient * exchange.base;
        quotient_ = next_quotient;
        divided_by_ = exchange.stride * exchange.base;
        divided_in_ = exchange.numbering;
        return position;
    }
    [[nodiscard]] Rank rank_of(const ExchangeStage& exchange, Rank number) const {
        return exchange.numbering == 0 ? number : stages_.rank_of(exchange.numbering, number);
    }
    /// Returns the slot number of a sending member, relative to the exchange's first slot.
    static Rank sender_number(const ExchangeStage& exchange, Rank position) {
        return exchange.senders == Members::last ? 0 : position;
    }

    /// Returns the first position of the members `which`, and one past the last.
    static std::pair<Rank, Rank> range_of(Members which, Rank base) {
        return {which == Members::last ? base - 1 : 0,
                which == Members::all_but_last ? base - 1 : base};
    }
    void begin_sends() {
        if (stages_.carries) sink_.payload(value());
    }
    /// Sends to peer_of(begin), ..., peer_of(end - 1) under number `number` of the stage.
    template <class PeerOf>
    void send(Rank begin, Rank end, const PeerOf& peer_of, Rank number, std::uint8_t flags) {
        if (begin >= end) return;
        const auto peer = [begin, &peer_of](Rank i) { return peer_of(begin + i); };
        const std::uint32_t signal_number = first_number_ + as_u32(number);
        if (!stages_.carries) return sink_.signal(end - begin, peer, signal_number, flags);
        sink_.put(end - begin, peer, signal_number, flags);
        unflushed_ = true;
    }
    /// Receives from peer_of(begin), ..., peer_of(end - 1) under the numbers `number`, number + 1,
    /// ... of the stage.
    template <class PeerOf>
    void receive(Rank begin, Rank end, const PeerOf& peer_of, Rank number, std::uint8_t flags) {
        if (begin >= end) return;
        const auto peer = [begin, &peer_of](Rank i) { return peer_of(begin + i); };
        const std::uint32_t slot_number = first_number_ + as_u32(number);
        sink_.wait(end - begin, peer, slot_number, flags);
        if (stages_.carries) sink_.slots(in_loop(slot(slot_number)), end - begin);
    }

    /// Combines the operands into the value. Flushes first if puts may still read the old value.
    void combine() {
        if (!stages_.carries) return;
        if (unflushed_) sink_.flush();
        unflushed_ = false;
        holds_output_ = true;
        sink_.combine(in_loop(output()));
    }

    [[nodiscard]] Block value() const { return in_loop(holds_output_ ? output() : input()); }
    [[nodiscard]] Block in_loop(Block block) const { return per_segment(block, advance_); }

    const Stages& stages_;
    Sink& sink_;
    std::uint32_t advance_;                     ///< units from one segment to the next
    std::vector<std::uint32_t> first_numbers_;  ///< first number of each stage
    std::vector<Rank> numbers_;                 ///< this rank's number in each numbering
    std::uint32_t first_number_ = 0;            ///< first number of the current stage
    bool holds_output_ = false;                 ///< the value is in the output, not in the input
    bool unflushed_ = false;                    ///< there were puts after the last flush()
    // quotient_ is this rank's number in the numbering divided_in_, divided by divided_by_.
    Rank quotient_ = 0;
    Rank divided_by_ = 0;  ///< 0: quotient_ is not set
    std::uint32_t divided_in_ = 0;
};

}  // namespace weft::plan
