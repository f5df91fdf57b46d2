// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/stages.hpp"

#include <algorithm>
#include <utility>

#include "plan/schedule/builder.hpp"

namespace weft::plan {

Rank Numbering::outer_of(Rank number) const {
    for (const Strip& strip : strips) {
        if (number < strip.count) return strip.outer_of(number);
        number -= strip.count;
    }
    return kNobody;
}

Rank Numbering::number_of(Rank outer_number) const {
    Rank before = 0;
    for (const Strip& strip : strips) {
        const Rank number = strip.number_of(outer_number);
        if (number != kNobody) return before + number;
        before += strip.count;
    }
    return kNobody;
}

Rank Riders::number(Rank group, Rank place) const {
    if (dealt) return place * groups + group;
    return group * (count / groups) + std::min(group, count % groups) + place;
}

Rank Riders::group_of(Rank number) const {
    if (dealt) return number % groups;
    const Rank least = count / groups;
    const Rank fuller = count % groups;
    const Rank split = fuller * (least + 1);
    return number < split ? number / (least + 1) : fuller + (number - split) / least;
}

Rank Riders::place_of(Rank number_) const {
    return dealt ? number_ / groups : number_ - number(group_of(number_), 0);
}

Rank Stages::rank_of(std::uint32_t numbering, Rank number) const {
    while (numbering != 0) {
        number = numberings[numbering].outer_of(number);
        numbering = numberings[numbering].outer;
    }
    return number;
}

std::uint32_t Stages::numbers_of(const Stage& stage) const {
    if (const Circle* circle = std::get_if<Circle>(&stage))
        return static_cast<std::uint32_t>(circle->radix);
    const Meeting& meeting = std::get<Meeting>(stage);
    const Rank members = meeting.count_of(meeting.senders);
    return static_cast<std::uint32_t>(members +
                                      (meeting.riders_send ? riders_of(meeting).most() : 0));
}

void Stages::add(const Stage& stage) {
    header.slots += numbers_of(stage);
    stages.push_back(stage);
}

Stages begin_stages(Program header) {
    Stages stages;
    const Rank size = header.size;
    stages.header = std::move(header);
    stages.numberings.push_back(
        {.count = size, .strips = {{.count = size, .width = size, .pitch = size}}});
    return stages;
}

namespace {

/// Writes the steps of one rank.
class Expansion {
  public:
    Expansion(const Stages& stages, Rank rank)
        : stages_(stages), advance_(stages.header.segments > 1 ? 1 : 0), builder_([&] {
              Program header = stages.header;
              header.rank = rank;
              return header;
          }()) {
        numbers_.push_back(rank);
        for (std::size_t i = 1; i < stages.numberings.size(); ++i) {
            const Numbering& numbering = stages.numberings[i];
            const Rank outer = numbers_[numbering.outer];
            numbers_.push_back(outer == kNobody ? kNobody : numbering.number_of(outer));
        }
    }

    Program run() && {
        builder_.reserve_steps(2 * stages_.header.slots + 4 * stages_.stages.size() + 2);
        if (advance_ != 0) builder_.begin_loop();
        for (const Stage& stage : stages_.stages) {
            std::visit([this](const auto& kind) { write(kind); }, stage);
            first_number_ += stages_.numbers_of(stage);
        }
        if (stages_.carries && !holds_output_) builder_.copy(in_loop(output()), in_loop(input()));
        if (advance_ != 0) builder_.end_loop();
        return std::move(builder_).finish();
    }

  private:
    void write(const Meeting& meeting) {
        const Riders riders = stages_.riders_of(meeting);
        const Rank number = numbers_[meeting.numbering];
        if (number != kNobody && number < meeting.members()) {
            write_member(meeting, riders, number);
        } else if (meeting.riders != kNoRiders && numbers_[meeting.riders] != kNobody) {
            write_rider(meeting, riders, numbers_[meeting.riders]);
        }
    }

    void write_member(const Meeting& meeting, const Riders& riders, Rank number) {
        const Rank position = meeting.position_of(number);
        const Rank group = meeting.group_of(number);
        const Rank first = number - position * meeting.stride;
        const auto member = [&](Rank j) {
            return stages_.rank_of(meeting.numbering, first + j * meeting.stride);
        };
        const auto rider = [&](Rank k) {
            return stages_.rank_of(meeting.riders, riders.number(group, k));
        };
        // Puts to a single receiver are not worth a published copy.
        const std::uint8_t flags = meeting.receivers == Members::last ? 0 : kShared;
        if (meeting.sends(position)) {
            const Rank own = own_number(meeting, position);
            for (Rank j = position + 1; j < meeting.base; ++j)
                if (meeting.receives(j)) send(member(j), own, flags);
            for (Rank j = 0; j < position; ++j)
                if (meeting.receives(j)) send(member(j), own, flags);
            if (meeting.riders_receive)
                for (Rank k = 0; k < riders.of(group); ++k) send(rider(k), own, flags);
        }
        if (!meeting.receives(position)) return;
        operands_.clear();
        if (meeting.riders_send)
            for (Rank k = 0; k < riders.of(group); ++k)
                receive(rider(k), meeting.count_of(meeting.senders) + k, flags);
        for (Rank j = 0; j < meeting.base; ++j) {
            if (j == position) {
                if (meeting.keeps_own) operands_.push_back(value());
            } else if (meeting.sends(j)) {
                receive(member(j), own_number(meeting, j), flags);
            }
        }
        combine();
    }

    void write_rider(const Meeting& meeting, const Riders& riders, Rank number) {
        const Rank group = riders.group_of(number);
        const auto member = [&](Rank j) {
            return stages_.rank_of(meeting.numbering, meeting.member(group, j));
        };
        if (meeting.riders_send) {
            const Rank own = meeting.count_of(meeting.senders) + riders.place_of(number);
            for (Rank j = 0; j < meeting.base; ++j)
                if (meeting.receives(j)) send(member(j), own, kShared);
        }
        if (!meeting.riders_receive) return;
        operands_.clear();
        for (Rank j = 0; j < meeting.base; ++j)
            if (meeting.sends(j)) receive(member(j), own_number(meeting, j), kShared);
        combine();
    }

    void write(const Circle& circle) {
        const std::int64_t size = stages_.numberings[circle.numbering].count;
        const Rank own = numbers_[circle.numbering];
        const std::uint8_t flags = circle.aligned ? kShared : 0;
        const auto number = [&](std::int64_t sender, std::int64_t j) {
            const std::int64_t digit = sender / circle.reach % circle.radix;
            return first_number_ + static_cast<std::uint32_t>(circle.aligned ? digit : j - 1);
        };
        const auto rank = [&](std::int64_t other) {
            return stages_.rank_of(circle.numbering, static_cast<Rank>(other));
        };
        if (own != kNobody) {
            for (std::int64_t j = 1; j < circle.radix && j * circle.reach < size; ++j)
                builder_.signal(rank((own + j * circle.reach) % size), number(own, j), flags);
            for (std::int64_t j = 1; j < circle.radix && j * circle.reach < size; ++j) {
                const std::int64_t sender = (own - j * circle.reach + size) % size;
                builder_.wait(rank(sender), number(sender, j), flags);
            }
        }
    }

    /// The signal number of a sending member, counted from the first one of the meeting.
    static Rank own_number(const Meeting& meeting, Rank position) {
        return meeting.senders == Members::last ? 0 : position;
    }

    void send(Rank peer, Rank number, std::uint8_t flags) {
        if (!stages_.carries)
            return builder_.signal(peer, first_number_ + static_cast<std::uint32_t>(number), flags);
        builder_.put(peer, first_number_ + static_cast<std::uint32_t>(number), value(), flags);
        unsettled_ = true;
    }

    void receive(Rank peer, Rank number, std::uint8_t flags) {
        const std::uint32_t slot_number = first_number_ + static_cast<std::uint32_t>(number);
        builder_.wait(peer, slot_number, flags);
        operands_.push_back(in_loop(slot(slot_number)));
    }

    /// Overwrites the value, which puts may still be reading.
    void combine() {
        if (!stages_.carries) return;
        if (unsettled_) builder_.local();
        unsettled_ = false;
        if (operands_.size() == 1)
            builder_.copy(in_loop(output()), operands_.front());
        else
            builder_.reduce(in_loop(output()), operands_);
        holds_output_ = true;
    }

    [[nodiscard]] Block value() const { return in_loop(holds_output_ ? output() : input()); }
    [[nodiscard]] Block in_loop(Block block) const { return per_segment(block, advance_); }

    const Stages& stages_;
    std::uint32_t advance_;  ///< units from one segment to the next
    Builder builder_;
    std::vector<Rank> numbers_;  ///< this rank's number in each numbering
    std::vector<Block> operands_;
    std::uint32_t first_number_ = 0;  ///< of the current stage
    bool holds_output_ = false;       ///< the value lies in output, not in input any more
    bool unsettled_ = false;          ///< a put since the last local()
};

std::uint64_t raises(const Stages& stages, const Meeting& meeting) {
    const auto groups = static_cast<std::uint64_t>(meeting.groups);
    const auto senders = static_cast<std::uint64_t>(meeting.count_of(meeting.senders));
    const auto receivers = static_cast<std::uint64_t>(meeting.count_of(meeting.receivers));
    const auto riders = static_cast<std::uint64_t>(stages.riders_of(meeting).count);
    std::uint64_t both = 0;  // members that would put to themselves
    for (const Rank position : {Rank{0}, meeting.base - 1}) {
        const auto times = static_cast<std::uint64_t>(position == 0 ? meeting.base - 1 : 1);
        if (meeting.sends(position) && meeting.receives(position)) both += times;
    }
    return groups * (senders * receivers - both) + (meeting.riders_send ? riders * receivers : 0) +
           (meeting.riders_receive ? riders * senders : 0);
}

std::uint64_t raises(const Stages& stages, const Circle& circle) {
    const std::int64_t size = stages.numberings[circle.numbering].count;
    const std::int64_t ahead = std::min(circle.radix - 1, (size - 1) / circle.reach);
    return static_cast<std::uint64_t>(size * ahead);
}

}  // namespace

Program program_of(const Stages& stages, Rank rank) {
    return Expansion(stages, rank).run();
}

std::uint64_t raises_of(const Stages& stages, const Stage& stage) {
    return std::visit([&](const auto& kind) { return raises(stages, kind); }, stage);
}

}  // namespace weft::plan
