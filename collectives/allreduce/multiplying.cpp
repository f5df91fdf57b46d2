// SPDX-License-Identifier: BSD-3-Clause
// multiplying.cpp - allreduce by recursive multiplying: any schedule of the notation.
//
// Idea     Stage by stage, groups of B ranks exchange what they hold and reduce it, so that after
//          the stages with factors B1, B2, .. every rank holds the reduction of B1*B2*.. ranks.
//          Sizes that do not factor well are reduced first: a split (c, e) lets one rank speak for
//          its group, a merge (m, n) lets the remainders ride along in the first and last stage.
// Source   Ruefenacht et al., recursive multiplying, section 4 and algorithms 2 to 6, with the
//          indices of the pseudocode put right.
// Rounds   One for each stage. Messages: n*(B-1) for each aB.
// Bytes    Each message carries the whole vector: in a stage a rank sends and reduces (B-1) of them.
// Memory   One slot for each member of a stage's groups and each remainder attached; no scratch.
// Good for Short vectors: few rounds of many non-blocking puts. B near 4 where issuing a message
//          costs a quarter of its latency.
// Holds    All ranks reduce in the same order, so results are bit-identical; with ordered placement
//          it is rank order. All puts of a stage carry the value from before the stage; that value
//          is overwritten only after local(). A rank's puts of a stage all carry one number: the
//          position of the sender in its group, counted from the stage's first number. So puts are
//          kShared, and the slots of different stages never meet. Members come first, remainders
//          after them, in the order of the paper: its simulated times depend on that.
// Next     notation/schedule.hpp for the rules; patterns/levels.hpp for who is who.
#include <bit>
#include <variant>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/patterns/exchange.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

using patterns::kInactive;
using plan::Block;

/// Numbers (slots and signals) that a stage uses, the same on all ranks.
std::uint32_t numbers_of(const Stage& stage) {
    switch (stage.kind) {
        case StageKind::factor:
        case StageKind::release:
            return stage.base;
        case StageKind::gather:
            return stage.base - 1;
        case StageKind::scatter:
            return 1;
        case StageKind::merge:
            return stage.base + (stage.remainders + stage.groups - 1) / stage.groups;
    }
    return 0;
}

/// Walks the stages for one rank and writes its steps.
class Walk {
  public:
    Walk(plan::Builder& builder, const GenerateRequest& request, bool pipelined)
        : builder_(builder),
          placement_(request.placement),
          advance_(pipelined ? 1 : 0),
          wid_(request.rank) {}

    void run(const Shape& shape) {
        for (const PlacedStage& placed : shape.stages) {
            step(placed);
            first_number_ += numbers_of(placed.stage);
        }
        if (!holds_output_) builder_.copy(in_loop(plan::output()), in_loop(plan::input()));
        builder_.reserve_slots(first_number_);
    }

  private:
    /// A level that is open: how it was made and who this rank is outside of it.
    struct Opened {
        std::variant<patterns::Split, patterns::Merge> change;
        Rank outer_wid = kInactive;
    };

    void step(const PlacedStage& placed) {
        switch (placed.stage.kind) {
            case StageKind::factor:
                if (wid_ != kInactive) {
                    const patterns::Exchange group{placed.stride, placed.stage.base};
                    send_to_members(group);
                    finish_exchange(group);
                }
                break;
            case StageKind::gather:
                gather({placed.stage.grouped, placed.stage.base});
                break;
            case StageKind::scatter:
                scatter();
                break;
            case StageKind::merge:
                merge(
                    {placed.stage.remainders, placed.stage.groups, placed.stage.base, placement_});
                break;
            case StageKind::release:
                release({placed.stride, placed.stage.base});
                break;
        }
    }

    /// The others of the group, beginning with the one behind me: nobody is everyone's first.
    void send_to_members(const patterns::Exchange& group) {
        const Rank position = group.position_of(wid_);
        for (Rank k = 1; k < group.base; ++k) {
            const Rank member = group.member(wid_, (position + k) % group.base);
            send(levels_.rank_of(member), position);
        }
    }

    /// Waits for the others and reduces behind the operands that are there already.
    void finish_exchange(const patterns::Exchange& group, std::vector<Block> operands = {}) {
        const Rank position = group.position_of(wid_);
        for (Rank j = 0; j < group.base; ++j) {
            if (j == position) {
                operands.push_back(value());
            } else {
                operands.push_back(receive(levels_.rank_of(group.member(wid_, j)), j));
            }
        }
        reduce(operands);
    }

    void gather(const patterns::Split& split) {
        opened_.push_back({split, wid_});
        const auto place = wid_ == kInactive ? patterns::Split::Place{} : split.place_of(wid_);
        if (place.group != kInactive) {
            const Rank leader = split.base - 1;
            if (place.position != leader) {
                send(levels_.rank_of(split.member(place.group, leader)), place.position, 0);
            } else {
                std::vector<Block> operands;
                for (Rank j = 0; j < leader; ++j)
                    operands.push_back(
                        receive(levels_.rank_of(split.member(place.group, j)), j, 0));
                operands.push_back(value());
                reduce(operands);
            }
        }
        levels_.push(split);
        wid_ = place.inner;
    }

    void scatter() {
        const auto split = std::get<patterns::Split>(close());
        if (wid_ == kInactive) return;
        const auto place = split.place_of(wid_);
        if (place.group == kInactive) return;
        const Rank leader = split.base - 1;
        if (place.position == leader) {
            for (Rank j = 0; j < leader; ++j)
                send(levels_.rank_of(split.member(place.group, j)), 0);
        } else {
            const Block result = receive(levels_.rank_of(split.member(place.group, leader)), 0);
            settle();
            builder_.copy(in_loop(plan::output()), result);
            holds_output_ = true;
        }
    }

    void merge(const patterns::Merge& merge) {
        opened_.push_back({merge, wid_});
        const auto place = wid_ == kInactive ? patterns::Merge::Place{} : merge.place_of(wid_);
        const patterns::Exchange group{1, merge.base};
        if (place.remainder != kInactive) {
            const Rank first = place.remainder % merge.groups * merge.base;
            for (Rank j = 0; j < merge.base; ++j)
                send(levels_.rank_of(merge.outer_of(first + j)),
                     merge.base + place.remainder / merge.groups);
        }
        std::vector<Block> operands;
        if (place.inner != kInactive) {
            const Rank own_group = place.inner / merge.base;
            std::vector<Rank> attached;
            for (Rank k = 0; k < merge.attached(own_group); ++k)
                attached.push_back(
                    levels_.rank_of(merge.outer_of_remainder(k * merge.groups + own_group)));
            levels_.push(merge);
            wid_ = place.inner;
            send_to_members(group);
            for (Rank k = 0; k < static_cast<Rank>(attached.size()); ++k)
                operands.push_back(receive(attached[k], merge.base + k));
            finish_exchange(group, std::move(operands));
            return;
        }
        levels_.push(merge);
        wid_ = kInactive;
    }

    void release(const patterns::Exchange& group) {
        const auto merge = std::get<patterns::Merge>(opened_.back().change);
        if (wid_ != kInactive) {
            const Rank position = group.position_of(wid_);
            send_to_members(group);
            const patterns::Levels inner = levels_;
            levels_.pop();
            for (Rank i = wid_ % group.stride; i < merge.remainders; i += group.stride)
                send(levels_.rank_of(merge.outer_of_remainder(i)), position);
            levels_ = inner;
            finish_exchange(group);
        }
        close();
        const auto place = wid_ == kInactive ? patterns::Merge::Place{} : merge.place_of(wid_);
        if (place.remainder == kInactive) return;
        const Rank first = place.remainder % group.stride;
        std::vector<Block> partials;
        for (Rank j = 0; j < group.base; ++j)
            partials.push_back(
                receive(levels_.rank_of(merge.outer_of(first + j * group.stride)), j));
        reduce(partials);
    }

    /// Back to the level outside; returns how the one inside was made.
    std::variant<patterns::Split, patterns::Merge> close() {
        const Opened level = opened_.back();
        opened_.pop_back();
        levels_.pop();
        wid_ = level.outer_wid;
        return level.change;
    }

    void send(Rank peer, Rank number, std::uint8_t flags = plan::kShared) {
        builder_.put(peer, first_number_ + number, value(), flags);
        unsettled_ = true;
    }

    Block receive(Rank peer, Rank number, std::uint8_t flags = plan::kShared) {
        builder_.wait(peer, first_number_ + number, flags);
        return in_loop(plan::slot(first_number_ + number));
    }

    void reduce(const std::vector<Block>& operands) {
        settle();
        builder_.reduce(in_loop(plan::output()), operands);
        holds_output_ = true;
    }

    /// Before the value that is being sent is overwritten.
    void settle() {
        if (unsettled_) builder_.local();
        unsettled_ = false;
    }

    [[nodiscard]] Block value() const {
        return in_loop(holds_output_ ? plan::output() : plan::input());
    }
    [[nodiscard]] Block in_loop(Block block) const { return plan::per_segment(block, advance_); }

    plan::Builder& builder_;
    Placement placement_;
    std::uint32_t advance_;  ///< units from one segment to the next
    patterns::Levels levels_;
    std::vector<Opened> opened_;
    Rank wid_;                        ///< on the innermost level, or kInactive
    std::uint32_t first_number_ = 0;  ///< of the current stage
    bool holds_output_ = false;       ///< the value lies in output, not in input any more
    bool unsettled_ = false;          ///< a put since the last local()
};

base::Result<plan::Program> generate_schedule(const Schedule& schedule, std::size_t position,
                                              const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    const base::Result<Shape> shape = validate(schedule, request.size, position);
    if (!shape) return shape.failure();
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allreduce", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {  // nothing to send: such a call never is synchronizing
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.units = *segments;
    header.segments = *segments;
    header.depth = *segments > 1 ? 2 : 1;
    header.synchronizing = true;
    plan::Builder builder(std::move(header));
    const bool pipelined = *segments > 1;
    if (pipelined) builder.begin_loop();
    Walk(builder, request, pipelined).run(*shape);
    if (pipelined) builder.end_loop();
    return std::move(builder).finish();
}

base::Result<plan::Program> generate_multiplying(const AlgorithmSpec& spec,
                                                 const GenerateRequest& request) {
    if (spec.is_schedule()) return generate_schedule(spec.schedule, spec.position, spec, request);
    const SpecParameter* schedule = spec.find("schedule");
    if (schedule == nullptr)
        return base::fail(Status::argument,
                          "character {}: multiplying needs a schedule, as in schedule=(a2,a4)",
                          spec.position);
    if (schedule->nested.empty() || !schedule->nested.front().is_schedule())
        return base::fail(
            Status::argument,
            "character {}: schedule must be in the notation and in parentheses, as in "
            "schedule=(a2,a4)",
            schedule->position);
    return generate_schedule(schedule->nested.front().schedule, schedule->position, spec, request);
}

/// Pairs fold first until a power of two is left; then distance 1, 2, 4, ...
Schedule doubling_schedule(Rank size) {
    const Rank power = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(size)));
    const Rank extra = size - power;
    Schedule schedule;
    if (extra > 0) schedule.push_back({.kind = StageKind::gather, .base = 2, .grouped = 2 * extra});
    for (Rank stride = 1; stride < power; stride *= 2)
        schedule.push_back({.kind = StageKind::factor, .base = 2});
    if (extra > 0)
        schedule.push_back({.kind = StageKind::scatter, .base = 2, .grouped = 2 * extra});
    return schedule;
}

base::Result<plan::Program> generate_doubling(const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    return generate_schedule(doubling_schedule(request.size), spec.position, spec, request);
}

}  // namespace

Algorithm allreduce_multiplying() {
    return {
        .collective = "allreduce",
        .name = "multiplying",
        .summary =
            "recursive multiplying: any schedule of the notation, as in a2,a4 or c6m2,a2,a2,e6m2",
        .source = "Ruefenacht et al., recursive multiplying, section 4",
        .parameters = {{"schedule", "",
                        "the schedule, in parentheses; a bare schedule names it too"},
                       {"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .notation = true},
        .generate = &generate_multiplying,
    };
}

Algorithm allreduce_recursive_doubling() {
    return {
        .collective = "allreduce",
        .name = "recursive-doubling",
        .summary = "a2 stages; if the size is not a power of two, pairs of ranks fold first",
        .source = "Ruefenacht et al., recursive multiplying, algorithm 1",
        .parameters = {{"segments", "1", "pieces of the vector that follow each other"}},
        .properties = {.ordered = true, .bit_identical = true, .synchronizing = true},
        .generate = &generate_doubling,
    };
}

}  // namespace weft::collectives
