// SPDX-License-Identifier: BSD-3-Clause
// fuse.cpp - lowering: reads the steps of a bound program as stages, if they all fit (fused.hpp).
#include <algorithm>
#include <optional>

#include "plan/schedule/step.hpp"
#include "run/bind/bind.hpp"

namespace weft::run {

namespace {

using plan::Buffer;
using plan::StepKind;

constexpr std::size_t kFusedSteps = 512;  ///< longer programs are not worth a second form

/// Reads the steps of one lane as stages; any step that does not fit ends the attempt.
class Fuser {
  public:
    Fuser(const BoundProgram& bound, const base::RegionShape& shape)
        : bound_(bound), shape_(shape) {}

    std::optional<FusedProgram> run() {
        for (const BoundStep& step : bound_.steps) {
            if (!take(step)) return std::nullopt;
        }
        close_stage();
        result_.scratch_bytes = bound_.scratch_bytes;
        return std::move(result_);
    }

  private:
    bool take(const BoundStep& step) {
        if (step.salt != 0) return false;
        switch (step.kind) {
            case StepKind::publish:
                return take_store(step, -1);
            case StepKind::put:
                return step.target.count == 0 && take_store(step, step.peer);
            case StepKind::signal:
                // Of a single segment a lag leaves nothing.
                return step.lag != 0 || take_store(step, step.peer);
            case StepKind::wait:
                return step.lag != 0 || take_wait(step);
            case StepKind::flush:
                return true;  // cells are stored at once: nothing reads their source later
            case StepKind::reduce:
            case StepKind::copy:
                return take_result(step);
            default:
                return false;
        }
    }

    bool take_store(const BoundStep& step, Rank peer) {
        if (!awaited_.empty()) close_stage();
        result_.stores_at_peers = result_.stores_at_peers || peer >= 0;
        FusedStore store{.peer = peer,
                         .target = place_in_cell(step.number, 0, step.in_cell),
                         .source = {},
                         .bytes = 0};
        if (peer < 0)
            store.target = published_place(bound_.program.rank, step.number, 0);
        else
            store.target.cell = cell_in(store.target, peer);
        if (step.source.count > 1) return false;
        if (step.source.count == 1) {
            store.source = place_of(step.source.start);
            store.bytes = bound_.pieces[step.source.start].bytes;
            const bool fits = store.target.in_slot() || store.bytes <= base::kCellPayload;
            if (store.source.buffer == FusedBuffer::none || !fits) return false;
        }
        stage_.stores.push_back(store);
        return true;
    }

    bool take_wait(const BoundStep& step) {
        const bool published = (step.flags & plan::kFromPublished) != 0;
        result_.stores_at_peers = result_.stores_at_peers || !published;
        FusedPlace place{.buffer = published ? FusedBuffer::published : FusedBuffer::cell,
                         .peer = step.peer,
                         .number = cell_of(step.number)};
        place.cell = cell_in(place, published ? step.peer : bound_.program.rank);
        awaited_.push_back({.place = place, .awaited = true, .combines = false});
        return true;
    }

    bool take_result(const BoundStep& step) {
        if (step.target.count != 1) return false;
        stage_.target = place_of(step.target.start);
        const FusedBuffer to = stage_.target.buffer;
        if (to != FusedBuffer::output && to != FusedBuffer::scratch) return false;
        stage_.bytes = bound_.pieces[step.target.start].bytes;
        const std::uint32_t operands = step.kind == StepKind::copy ? 1 : step.operands;
        if (step.source.count != operands) return false;
        if (operands > kFusedOperands) return false;
        for (std::uint32_t i = 0; i < operands; ++i) {
            if (!take_operand(step.source.start + i)) return false;
        }
        close_stage();
        return true;
    }

    bool take_operand(std::uint32_t piece) {
        FusedOperand operand{.place = place_of(piece)};
        if (operand.place.buffer == FusedBuffer::none || bound_.pieces[piece].bytes != stage_.bytes)
            return false;
        const auto waited = std::ranges::find_if(
            awaited_, [&](const FusedOperand& one) { return one.place.same_cell(operand.place); });
        operand.awaited = waited != awaited_.end();
        if (operand.awaited) {
            operand.place.peer = waited->place.peer;
            awaited_.erase(waited);
        }
        stage_.operands.push_back(operand);
        return true;
    }

    void close_stage() {
        // What was awaited but not combined still orders this stage before the next.
        stage_.operands.insert(stage_.operands.begin(), awaited_.begin(), awaited_.end());
        awaited_.clear();
        stage_.elements = stage_.bytes / bound_.element_bytes;
        stage_.in_cells = stage_.bytes <= base::kCellPayload;
        stage_.pair = is_pair(stage_);
        if (!stage_.stores.empty() || !stage_.operands.empty()) result_.stages.push_back(stage_);
        stage_ = {};
    }

    /// Two operands, the last two, and a result: nothing reads it or waits after they are combined.
    [[nodiscard]] static bool is_pair(const FusedStage& stage) {
        const std::size_t count = stage.operands.size();
        return stage.in_cells && stage.bytes != 0 && count >= 2 &&
               std::ranges::count_if(stage.operands, &FusedOperand::combines) == 2 &&
               stage.operands[count - 2].combines && stage.operands[count - 1].combines;
    }

    [[nodiscard]] FusedCell cell_in(const FusedPlace& place, Rank owner) const {
        if (place.published())
            return {shape_.published(0, place.number), owner, sizeof(base::Cell)};
        return {shape_.cell(0, place.number), owner, base::kCellStride};
    }

    [[nodiscard]] std::uint32_t cell_of(std::uint32_t number) const {
        return number * bound_.depth;
    }

    /// None if it is not of a kind that stages read and write.
    [[nodiscard]] FusedPlace place_of(std::uint32_t index) const {
        const Piece& piece = bound_.pieces[index];
        FusedPlace place{.offset = piece.offset};
        if (piece.moving) return place;
        if (piece.buffer == Buffer::input) place.buffer = FusedBuffer::input;
        if (piece.buffer == Buffer::output) place.buffer = FusedBuffer::output;
        if (piece.buffer == Buffer::scratch) {
            place.buffer = FusedBuffer::scratch;
            place.offset += piece.index * (bound_.scratch_bytes / bound_.program.scratch) -
                            bound_.touched_scratch.begin;
        }
        if (piece.buffer == Buffer::slot)
            return place_in_cell(piece.index, piece.offset, piece.in_cell);
        if (piece.buffer == Buffer::published)
            return published_place(piece.peer, piece.index, piece.offset);
        return place;
    }

    /// Where a published payload lies, in its cell or in a slot beside those that peers write.
    [[nodiscard]] FusedPlace published_place(Rank owner, std::uint32_t number,
                                             std::uint64_t offset) const {
        const bool slot = bound_.published_start != 0;
        FusedPlace place{
            .buffer = slot ? FusedBuffer::published_slot : FusedBuffer::published,
            .peer = owner,
            .number = cell_of(number),
            .offset = offset + (slot ? bound_.published_start + bound_.slot_offset(number, 0) : 0)};
        place.cell = cell_in(place, owner);
        return place;
    }

    /// Where the payload of a put lies, in a cell or in its slot.
    [[nodiscard]] FusedPlace place_in_cell(std::uint32_t number, std::uint64_t offset,
                                           bool in_cell) const {
        const bool slot = bound_.bulk && !in_cell;
        FusedPlace place{.buffer = slot ? FusedBuffer::slot : FusedBuffer::cell,
                         .number = cell_of(number),
                         .offset = offset + (slot ? bound_.slot_offset(number, 0) : 0)};
        place.cell = cell_in(place, bound_.program.rank);
        return place;
    }

    const BoundProgram& bound_;
    const base::RegionShape& shape_;
    FusedProgram result_;
    FusedStage stage_;
    std::vector<FusedOperand> awaited_;
};

}  // namespace

FusedProgram fuse(const BoundProgram& bound, const base::RegionShape& shape) {
    if (bound.lanes.size() != 1 || bound.segments != 1) return {};
    if (bound.steps.size() > kFusedSteps || bound.scratch_bytes > kFusedScratch) return {};
    return Fuser(bound, shape).run().value_or(FusedProgram{});
}

}  // namespace weft::run
