// SPDX-License-Identifier: BSD-3-Clause
// fuse.cpp - converts the steps of a bound program to the fused form (FusedStep).
#include <algorithm>
#include <optional>

#include "run/bind/bind.hpp"

namespace weft::run {
namespace {

using plan::Buffer;
using plan::StepKind;

constexpr std::size_t kFusedSteps = 512;  // longer programs gain nothing from the fused form

/// Location of a piece, and its cell if it is a payload.
struct FusedPart {
    enum class Area : std::uint8_t { none, buffer, cell, published };
    Area area = Area::none;
    std::uint32_t number = 0;  ///< number of the cell
    Rank owner = -1;           ///< owner of a published cell
    FusedPlace place = {};

    [[nodiscard]] bool in_slot() const { return place.move == FusedMove::bulk; }
    /// Returns true if both parts are in the same cell or slot, and so have the same flag.
    [[nodiscard]] bool same_cell(const FusedPart& other) const {
        return (area == Area::cell || area == Area::published) && area == other.area &&
               number == other.number && (area == Area::cell || owner == other.owner);
    }
};

struct Awaited {
    FusedPart cell;
    Rank peer = -1;
    std::uint16_t salt = 0;
};

/// Operand of a result, and the cell whose flag must arrive before.
struct Operand {
    FusedPart part;
    std::optional<Awaited> awaited;
};

struct Result {
    FusedPlace target;
    std::uint64_t bytes = 0;
    std::vector<Operand> operands;  ///< in the order in which they are combined
};

/// Converts the steps of all lanes to stages: stores, then waits, then at most one result.
class Fuser {
  public:
    Fuser(const BoundProgram& bound, const base::RegionShape& shape)
        : bound_(bound), shape_(shape) {}

    std::optional<FusedProgram> run() {
        fused_.teams = FusedTeams::any;
        for (const BoundStep& step : bound_.steps)
            if (!take(step)) return std::nullopt;
        await_rest();
        if (bound_.steps.empty()) return std::nullopt;
        add({.kind = FusedKind::end});
        fused_.scratch_bytes = bound_.scratch_bytes + (sums_ ? sizeof(base::Cell) : 0);
        fused_.exchange = is_exchange();
        return std::move(fused_);
    }

  private:
    [[nodiscard]] bool is_exchange() const {
        const auto is = [&](std::size_t at, FusedKind kind) {
            return at < fused_.steps.size() && fused_.steps[at].kind == kind;
        };
        // Flags of an exchange have no salt. Only pairwise programs have salts, and these are bulk.
        return !bound_.bulk && fused_.scratch_bytes == 0 &&
               (is(0, FusedKind::raise) || is(0, FusedKind::send)) && is(1, FusedKind::await) &&
               (is(2, FusedKind::end) || (is(2, FusedKind::combine) && is(3, FusedKind::end)));
    }

    bool take(const BoundStep& step) {
        switch (step.kind) {
            case StepKind::publish:
                return take_store(step, -1);
            case StepKind::put:
                return step.target.count == 0 && take_store(step, step.peer);
            case StepKind::signal:
                // A step with a lag acts in later segments, and a fused program has one segment.
                return step.lag != 0 || take_store(step, step.peer);
            case StepKind::wait:
                return step.lag != 0 || take_wait(step);
            case StepKind::flush:
                return true;  // stores to cells are complete immediately
            case StepKind::reduce:
            case StepKind::copy:
                return take_result(step);
            default:
                return false;
        }
    }

    bool take_store(const BoundStep& step, Rank peer) {
        await_rest();
        if (peer >= 0) fused_.teams = FusedTeams::one_node;
        const FusedPart target = peer < 0 ? published(bound_.program.rank, step.number, 0)
                                          : payload(peer, step.number, 0, step.in_cell);
        FusedStep store{
            .kind = FusedKind::raise, .salt = step.salt, .peer = peer, .target = flag_of(target)};
        if (step.source.count > 1) return false;
        if (step.source.count == 1) {
            const FusedPart source = part_of(step.source.start);
            store.amount = bound_.pieces[step.source.start].bytes;
            if (source.area == FusedPart::Area::none) return false;
            if (!target.in_slot() && store.amount > base::kCellPayload) return false;
            if (store.amount != 0) store.kind = FusedKind::send;
            store.source = source.place;
            store.other = target.place;
        }
        add(store);
        return true;
    }

    bool take_wait(const BoundStep& step) {
        const bool from_published = (step.flags & plan::kFromPublished) != 0;
        if (!from_published) fused_.teams = FusedTeams::one_node;
        awaited_.push_back({from_published ? published(step.peer, step.number, 0)
                                           : payload(bound_.program.rank, step.number, /*offset=*/0,
                                                     /*in_cell=*/true),
                            step.peer, step.salt});
        return true;
    }

    bool take_result(const BoundStep& step) {
        if (step.target.count != 1) return false;
        const FusedPart target = part_of(step.target.start);
        if (target.area != FusedPart::Area::buffer || target.place.base == kFusedInput)
            return false;
        const std::uint32_t operands = step.kind == StepKind::copy ? 1 : step.operands;
        if (step.source.count != operands) return false;
        if (operands > kFusedOperands) return false;
        Result result{target.place, bound_.pieces[step.target.start].bytes, {}};
        for (std::uint32_t i = 0; i < operands; ++i)
            if (!take_operand(step.source.start + i, result)) return false;
        add_awaited();  // a wait without an operand must also end before the next stage
        if (result.bytes <= base::kCellPayload)
            add_in_turn(result);
        else
            add_at_once(result);
        ++stage_;
        return true;
    }

    bool take_operand(std::uint32_t piece, Result& result) {
        Operand operand{part_of(piece), {}};
        if (operand.part.area == FusedPart::Area::none ||
            bound_.pieces[piece].bytes != result.bytes)
            return false;
        const auto waited = std::ranges::find_if(
            awaited_, [&](const Awaited& wait) { return wait.cell.same_cell(operand.part); });
        if (waited != awaited_.end()) {
            operand.awaited = *waited;
            awaited_.erase(waited);
        }
        result.operands.push_back(std::move(operand));
        return true;
    }

    // --- output ------------------------------------------------------------------------------

    void add(FusedStep step) {
        step.stage = stage_;
        fused_.steps.push_back(step);
    }
    void add_await(const Awaited& awaited) {
        add({.kind = FusedKind::await,
             .salt = awaited.salt,
             .peer = awaited.peer,
             .target = flag_of(awaited.cell)});
    }
    void add_awaited() {
        for (const Awaited& awaited : awaited_) add_await(awaited);
        awaited_.clear();
    }
    /// Ends a stage without a result, if there are waits.
    void await_rest() {
        if (awaited_.empty()) return;
        add_awaited();
        ++stage_;
    }

    /// Combines the operands of a short result one after another, while later ones are in flight.
    void add_in_turn(const Result& result) {
        FusedPlace left = result.operands.front().part.place;
        for (const Operand& operand : result.operands) {
            if (operand.awaited) add_await(*operand.awaited);
            if (&operand == &result.operands.front() || result.bytes == 0) continue;
            const bool last = &operand == &result.operands.back();
            // Not to the target, which may be an operand that has not arrived.
            const FusedPlace into = last ? result.target : sum();
            add_combined(into, left, operand.part.place, result.bytes);
            left = into;
        }
        if (result.operands.size() == 1) add_copied(result);
    }

    /// Combines the operands when all have arrived.
    void add_at_once(const Result& result) {
        for (const Operand& operand : result.operands)
            if (operand.awaited) add_await(*operand.awaited);
        const std::size_t count = result.operands.size();
        if (count == 1) return add_copied(result);
        if (count == 2)
            return add_combined(result.target, result.operands[0].part.place,
                                result.operands[1].part.place, result.bytes);
        for (const Operand& operand : result.operands)
            add({.kind = FusedKind::operand, .source = operand.part.place});
        add({.kind = FusedKind::reduce,
             .amount = result.bytes / bound_.element_bytes,
             .target = result.target});
    }

    void add_copied(const Result& result) {
        const FusedPlace& from = result.operands.front().part.place;
        if (result.bytes == 0 || from == result.target) return;
        add({.kind = FusedKind::copy,
             .amount = result.bytes,
             .target = result.target,
             .source = from});
    }
    void add_combined(const FusedPlace& into, const FusedPlace& left, const FusedPlace& right,
                      std::uint64_t bytes) {
        add({.kind = FusedKind::combine,
             .amount = bytes / bound_.element_bytes,
             .target = into,
             .source = left,
             .other = right});
    }

    /// Returns the location of a partial result, after the program's scratch buffers.
    [[nodiscard]] FusedPlace sum() {
        sums_ = true;
        return {bound_.scratch_bytes, kFusedScratch, FusedMove::none};
    }

    // --- locations ---------------------------------------------------------------------------

    [[nodiscard]] FusedPlace flag_of(const FusedPart& part) const {
        if (part.area == FusedPart::Area::published)
            return {shape_.published(0, part.number), part.place.base, FusedMove::published};
        return {shape_.cell(0, part.number), part.place.base, FusedMove::cells};
    }

    /// Returns the location of a piece, or Area::none if the fused form does not support it.
    [[nodiscard]] FusedPart part_of(std::uint32_t index) const {
        const Piece& piece = bound_.pieces[index];
        if (piece.moving) return {};
        if (piece.buffer == Buffer::slot)
            return payload(bound_.program.rank, piece.index, piece.offset, piece.in_cell);
        if (piece.buffer == Buffer::published)
            return published(piece.peer, piece.index, piece.offset);
        FusedPart part{.area = FusedPart::Area::buffer, .place = {.offset = piece.offset}};
        if (piece.buffer == Buffer::input) return part;
        part.place.base = kFusedOutput;
        if (piece.buffer == Buffer::output) return part;
        if (piece.buffer != Buffer::scratch) return {};
        part.place.base = kFusedScratch;
        part.place.offset += piece.index * (bound_.scratch_bytes / bound_.program.scratch) -
                             bound_.touched_scratch.begin;
        return part;
    }

    /// Returns the location of data that a rank publishes, in its cell or slot.
    [[nodiscard]] FusedPart published(Rank owner, std::uint32_t number,
                                      std::uint64_t offset) const {
        const std::uint64_t slots = bound_.published_start;
        return located(FusedPart::Area::published, owner, number, offset,
                       slots != 0 ? std::optional(slots) : std::nullopt);
    }
    /// Returns the location of a put's payload, in a cell or slot.
    [[nodiscard]] FusedPart payload(Rank owner, std::uint32_t number, std::uint64_t offset,
                                    bool in_cell) const {
        return located(FusedPart::Area::cell, owner, number, offset,
                       bound_.bulk && !in_cell ? std::optional<std::uint64_t>(0) : std::nullopt);
    }
    /// `slots`: start of the slots in a bulk bank if the data is in a slot.
    [[nodiscard]] FusedPart located(FusedPart::Area area, Rank owner, std::uint32_t number,
                                    std::uint64_t offset,
                                    std::optional<std::uint64_t> slots) const {
        const std::uint32_t region = kFusedRegions + static_cast<std::uint32_t>(owner);
        FusedPart part{area, number * bound_.depth, owner, {.base = region}};
        part.place =
            slots ? FusedPlace{*slots + bound_.slot_offset(number, 0), region, FusedMove::bulk}
                  : flag_of(part);
        part.place.offset += offset + (slots ? 0 : base::kCellPayloadOffset);
        return part;
    }

    const BoundProgram& bound_;
    const base::RegionShape& shape_;
    FusedProgram fused_;
    std::uint16_t stage_ = 0;
    std::vector<Awaited> awaited_;  ///< waits since the last store or result
    bool sums_ = false;             ///< a partial result needs memory
};

}  // namespace

FusedProgram fuse(const BoundProgram& bound, const base::RegionShape& shape) {
    // Lanes of a pairwise program without loops may run one after another: puts precede waits.
    const bool is_plain = bound.lanes.size() == 1 && bound.segments == 1;
    if (!is_plain && !bound.program.pairwise) return {};
    if (bound.steps.size() > kFusedSteps || bound.scratch_bytes > kFusedScratchMax) return {};
    return Fuser(bound, shape).run().value_or(FusedProgram{});
}

}  // namespace weft::run
