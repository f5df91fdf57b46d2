// SPDX-License-Identifier: BSD-3-Clause
// fuse.cpp - lowering: reads the steps of a bound program as stages, if they all fit (fused.hpp).
#include <algorithm>
#include <optional>

#include "run/bind/bind.hpp"

namespace weft::run {

namespace {

using plan::Buffer;
using plan::StepKind;

/// Reads the steps of one lane as stages; any step that does not fit ends the attempt.
class Fuser {
  public:
    explicit Fuser(const BoundProgram& bound) : bound_(bound) {}

    std::optional<FusedProgram> run() {
        for (const BoundStep& step : bound_.steps) {
            if (!take(step)) return std::nullopt;
        }
        close_stage();
        return std::move(result_);
    }

  private:
    bool take(const BoundStep& step) {
        switch (step.kind) {
            case StepKind::publish:
                return take_publish(step);
            case StepKind::wait:
                if ((step.flags & plan::kFromPublished) == 0) return false;
                awaited_.push_back({.peer = step.peer, .number = step.number, .combines = false});
                return true;
            case StepKind::flush:
                return true;  // cells are stored at once: nothing reads their source later
            case StepKind::reduce:
            case StepKind::copy:
                return take_result(step);
            default:
                return false;
        }
    }

    bool take_publish(const BoundStep& step) {
        if (stage_.publishes || !awaited_.empty()) close_stage();
        stage_.publishes = true;
        stage_.number = step.number;
        if (step.source.count == 0) return true;
        stage_.source = whole_vector(step.source);
        return stage_.source != FusedVector::none;
    }

    bool take_result(const BoundStep& step) {
        if (step.target.count != 1) return false;
        stage_.target = whole_vector(step.target);
        if (stage_.target != FusedVector::output) return false;
        const std::uint32_t operands = step.kind == StepKind::copy ? 1 : step.operands;
        if (step.source.count != operands) return false;
        for (std::uint32_t i = 0; i < operands; ++i) {
            if (!take_operand(step.source.start + i)) return false;
        }
        close_stage();
        return true;
    }

    bool take_operand(std::uint32_t piece_index) {
        const PieceList list{piece_index, 1};
        const Piece& piece = bound_.pieces[piece_index];
        if (const FusedVector own = whole_vector(list); own != FusedVector::none) {
            stage_.operands.push_back({.vector = own});
            return true;
        }
        if (piece.buffer != Buffer::published || piece.offset != 0) return false;
        if (piece.bytes != vector_bytes()) return false;
        const auto waited = std::ranges::find_if(awaited_, [&](const FusedOperand& operand) {
            return operand.peer == piece.peer && operand.number == piece.index;
        });
        if (waited == awaited_.end()) return false;
        stage_.operands.push_back({.peer = piece.peer, .number = piece.index});
        awaited_.erase(waited);
        return true;
    }

    void close_stage() {
        // What was awaited but not combined still orders this stage before the next.
        stage_.operands.insert(stage_.operands.begin(), awaited_.begin(), awaited_.end());
        awaited_.clear();
        if (stage_.publishes || !stage_.operands.empty()) result_.stages.push_back(stage_);
        stage_ = {};
    }

    [[nodiscard]] std::uint64_t vector_bytes() const {
        return bound_.elements * bound_.element_bytes;
    }

    /// Which vector the list names as a whole; none if it names anything else.
    [[nodiscard]] FusedVector whole_vector(PieceList list) const {
        if (list.count != 1) return FusedVector::none;
        const Piece& piece = bound_.pieces[list.start];
        if (piece.moving || piece.offset != 0 || piece.bytes != vector_bytes())
            return FusedVector::none;
        if (piece.buffer == Buffer::input) return FusedVector::input;
        if (piece.buffer == Buffer::output) return FusedVector::output;
        return FusedVector::none;
    }

    const BoundProgram& bound_;
    FusedProgram result_;
    FusedStage stage_;
    std::vector<FusedOperand> awaited_;
};

}  // namespace

FusedProgram fuse(const BoundProgram& bound) {
    if (bound.bulk || bound.lanes.size() != 1 || bound.segments != 1) return {};
    if (bound.elements * bound.element_bytes > base::kCellPayload) return {};
    return Fuser(bound).run().value_or(FusedProgram{});
}

}  // namespace weft::run
