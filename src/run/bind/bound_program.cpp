// SPDX-License-Identifier: BSD-3-Clause
// bound_program.cpp - touched ranges, lanes' last waits, and scratch buffers of bound programs.
#include <algorithm>
#include <utility>

#include "base/extent.hpp"
#include "plan/schedule/canonical.hpp"
#include "run/bind/bind.hpp"

namespace weft::run {
namespace {

using plan::Block;
using plan::blocks_of;
using plan::Buffer;
using plan::StepKind;

bool uses(const plan::Program& program, const plan::Step& step, Buffer buffer) {
    for (const plan::BlockList list : {step.target, step.source}) {
        const auto blocks = blocks_of(program, list);
        if (std::ranges::find(blocks, buffer, &Block::buffer) != blocks.end()) return true;
    }
    return false;
}

/// Returns true unless the steps run once, in order.
bool is_nonlinear(const plan::Program& program) {
    return program.lanes.size() != 1 || program.segments > 1 ||
           std::ranges::find(program.steps, StepKind::loop, &plan::Step::kind) !=
               program.steps.end();
}

bool copies_block(const plan::Step& step) {
    return step.kind == StepKind::copy && step.source.count == 1 && step.target.count == 1;
}

/// Returns true if a step accesses units outside of block `all` in the same scratch buffer.
bool reaches_outside(const plan::Program& program, const Block& all) {
    return std::ranges::any_of(program.blocks, [&](const Block& block) {
        return block.buffer == Buffer::scratch && block.index == all.index &&
               (block.first < all.first || block.stride > 1 ||
                block.first + block.count > all.first + all.count);
    });
}

/// Returns the scratch buffer that a step copies to the output, if no other step uses the output,
/// and no later step uses a scratch buffer. Otherwise returns kNone.
std::uint32_t scratch_for_output(const BoundProgram& bound) {
    const plan::Program& program = bound.program;
    if (is_nonlinear(program) || bound.has_displacements(Buffer::output))
        return BoundProgram::kNone;
    const plan::Step* last = nullptr;
    for (const plan::Step& step : program.steps) {
        const bool touches_output = uses(program, step, Buffer::output);
        if (last != nullptr && (touches_output || uses(program, step, Buffer::scratch)))
            return BoundProgram::kNone;
        if (touches_output) last = &step;
    }
    if (last == nullptr || !copies_block(*last)) return BoundProgram::kNone;
    const Block& from = program.blocks[last->source.start];
    Block to = program.blocks[last->target.start];
    to.buffer = Buffer::scratch;
    to.index = from.index;
    return to != from || reaches_outside(program, from) ? BoundProgram::kNone : from.index;
}

/// Returns the scratch buffer to which step 0 copies the input, unless written later; or kNone.
std::uint32_t scratch_for_input(const BoundProgram& bound) {
    const plan::Program& program = bound.program;
    if (is_nonlinear(program) || bound.has_displacements(Buffer::input) || program.steps.empty() ||
        !copies_block(program.steps.front()))
        return BoundProgram::kNone;
    const Block& to = program.blocks[program.steps.front().target.start];
    Block from = program.blocks[program.steps.front().source.start];
    if (from.buffer != Buffer::input || to.buffer != Buffer::scratch || to.stride > 1)
        return BoundProgram::kNone;
    from.buffer = Buffer::scratch;
    from.index = to.index;
    const auto is_written = [&](const plan::Step& step) {
        const bool exposes = step.kind == StepKind::expose;  // peers may write
        const auto targets = blocks_of(program, exposes ? step.source : step.target);
        return std::ranges::any_of(targets, [&](const Block& block) {
            return block.buffer == Buffer::scratch && block.index == to.index;
        });
    };
    const bool written = std::any_of(program.steps.begin() + 1, program.steps.end(), is_written);
    return from != to || written || reaches_outside(program, to) ? BoundProgram::kNone : to.index;
}

}  // namespace

void TouchedBuffer::add(std::uint64_t from, std::uint64_t to) {
    if (from == to) return;
    const bool first = begin == end;
    begin = first ? from : std::min(begin, from);
    end = first ? to : std::max(end, to);
}

TouchedBuffer TouchedBuffer::joined(const TouchedBuffer& other) const {
    TouchedBuffer both = *this;
    both.add(other.begin, other.end);
    const bool read = access == base::Access::read && other.access == base::Access::read;
    both.access = read ? base::Access::read : base::Access::write;
    both.gaps = gaps || other.gaps;
    both.exposed = exposed || other.exposed;
    both.copies.count += other.copies.count;
    both.copies.bytes += other.copies.bytes;
    both.copies.at_once = std::max(copies.at_once, other.copies.at_once);
    return both;
}

bool BoundProgram::input_has_holes() const {
    std::vector<base::Extent> parts;
    for (const Piece& piece : pieces)
        if (piece.buffer == plan::Buffer::input && !piece.moving && piece.bytes != 0)
            parts.push_back({piece.offset, piece.bytes});
    std::ranges::sort(parts, {}, &base::Extent::offset);
    std::uint64_t end = touched_input.begin;
    return std::ranges::any_of(parts, [&](const base::Extent& part) {
        return part.offset > std::exchange(end, std::max(end, part.end()));
    });
}

std::uint32_t BoundProgram::tail_of(const plan::Lane& lane, const std::vector<bool>* near) const {
    std::uint32_t tail = lane.first;
    std::uint32_t body_end = 0;  // end of the last loop's body
    for (std::uint32_t at = lane.first; at < lane.first + lane.count; ++at) {
        const BoundStep& step = steps[at];
        if (step.kind == plan::StepKind::loop) body_end = at + 1 + step.number;
        const bool waits = step.kind == plan::StepKind::wait && at >= body_end &&
                           (near == nullptr || (*near)[static_cast<std::size_t>(step.peer)]);
        if (!waits) tail = at + 1;
    }
    return tail;
}

void BoundProgram::place_scratch() {
    scratch_in_output = scratch_for_output(*this);
    scratch_in_input = scratch_for_input(*this);
}

}  // namespace weft::run
