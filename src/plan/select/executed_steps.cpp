// SPDX-License-Identifier: BSD-3-Clause
#include "plan/select/executed_steps.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plan/schedule/canonical.hpp"

namespace weft::plan {

namespace {

bool is_mapped(const Block& block) {
    return block.buffer == Buffer::mapped;
}

bool raises_flag(StepKind kind) {
    return kind == StepKind::put || kind == StepKind::signal || kind == StepKind::expose ||
           kind == StepKind::publish;
}

/// Returns the elements in the first of `shares` equal parts of a list of blocks.
std::uint64_t elements_of(const Program& program, const Partition& partition, BlockList list,
                          std::uint32_t segment, std::uint32_t shares) {
    std::uint64_t elements = 0;
    for (const Block& block : blocks_of(program, {list.start, list.count / shares}))
        elements += elements_in(partition, block, block.first + block.advance * segment);
    return elements;
}

/// Counts of ExecutedStep, in elements instead of bytes.
struct Touched {
    std::uint32_t mapped_vectors = 0;
    std::uint64_t mapped = 0;
    std::uint64_t own = 0;
    std::uint64_t slots = 0;
};

/// Returns how many of `shares` equal parts of a list are in memory of local peers.
std::uint32_t mapped_shares(const Program& program, BlockList list, std::uint32_t shares) {
    const auto blocks = blocks_of(program, list);
    const std::size_t each = blocks.size() / shares;
    std::uint32_t mapped = 0;
    for (std::size_t first = 0; first < blocks.size(); first += each)
        mapped += std::ranges::any_of(blocks.subspan(first, each), is_mapped) ? 1 : 0;
    return mapped;
}

/// Returns the touched elements of a reduction. Its first target is part of the reduction; the
/// other targets are copies.
Touched touched_by_reduction(const Program& program, const Partition& partition, const Step& step,
                             std::uint32_t segment) {
    const std::uint32_t copies = step.target.count / (step.source.count / step.operands);
    const std::uint32_t read = mapped_shares(program, step.source, step.operands);
    const std::uint32_t written = mapped_shares(program, step.target, copies);
    if (written == 0) return {.mapped_vectors = read};
    return {.mapped_vectors = read + written,
            .mapped = (copies - 1) * elements_of(program, partition, step.target, segment, copies)};
}

/// Returns true if the step copies one block to the same units of a buffer in the same memory.
bool is_free_copy(const Program& program, const Step& step) {
    if (step.source.count != 1 || step.target.count != 1) return false;
    const Block& from = program.blocks[step.source.start];
    Block to = program.blocks[step.target.start];
    const auto is_own = [](const Block& block) {
        return block.buffer == Buffer::input || block.buffer == Buffer::output ||
               block.buffer == Buffer::scratch;
    };
    if (!is_own(from) || !is_own(to)) return false;
    if (from.buffer != Buffer::scratch && to.buffer != Buffer::scratch &&
        (program.root == kNoRank || from.count < program.units))
        return false;
    to.buffer = from.buffer;
    to.index = from.index;
    return to == from;
}

Touched touched_by_copy(const Program& program, const Partition& partition, const Step& step,
                        std::uint32_t segment, bool count_own) {
    const bool mapped =
        mapped_shares(program, step.target, 1) + mapped_shares(program, step.source, 1) > 0;
    if (!mapped && (!count_own || is_free_copy(program, step))) return {};
    const std::uint64_t all = elements_of(program, partition, step.target, segment, 1);
    if (mapped) return {.mapped_vectors = 1, .mapped = all};
    std::uint64_t slots = 0;
    for (const Block& block : blocks_of(program, step.source))
        if (block.buffer == Buffer::slot)
            slots += elements_in(partition, block, block.first + block.advance * segment);
    return {.own = all - std::min(all, slots), .slots = slots};
}

/// Returns true if the preceding step writes the first operand.
bool reads_previous_result(const Program& program, const Step& step) {
    if (&step == program.steps.data()) return false;
    const Step& before = *(&step - 1);
    if (before.kind != StepKind::copy && before.kind != StepKind::reduce) return false;
    return std::ranges::equal(blocks_of(program, before.target),
                              blocks_of(program, operand_of(step, 0)));
}

Touched touched_by(const Program& program, const Partition& partition, const Step& step,
                   std::uint32_t segment, bool count_own) {
    if (step.source.count == 0 || step.target.count == 0) return {};
    if (step.kind == StepKind::copy)
        return touched_by_copy(program, partition, step, segment, count_own);
    if (step.kind == StepKind::reduce)
        return touched_by_reduction(program, partition, step, segment);
    return {};
}

std::uint64_t memory_elements(const Program& program, const Partition& partition, const Step& step,
                              std::uint32_t segment) {
    const bool whole = program.segments == 1;
    if (step.kind == StepKind::put)
        return elements_of(program, partition, step.source, segment, 1) * (whole ? 2 : 1);
    const bool reduces = step.kind == StepKind::reduce;
    if (!reduces && (step.kind != StepKind::copy || is_free_copy(program, step))) return 0;
    std::uint64_t elements = 0;
    for (const BlockList list : {step.target, step.source})
        for (const Block& block : blocks_of(program, list))
            if (whole || block.buffer != Buffer::slot)
                elements += elements_in(partition, block, block.first + block.advance * segment);
    if (reduces && reads_previous_result(program, step))
        elements -= elements_of(program, partition, step.source, segment, step.operands);
    return elements;
}

std::uint64_t slot_elements(const Program& program, const Partition& partition, const Step& step,
                            std::uint32_t segment, const std::vector<bool>& slots) {
    std::uint64_t elements = 0;
    for (const Block& block : blocks_of(program, step.source))
        if (block.buffer == Buffer::slot && slots[block.index])
            elements += elements_in(partition, block, block.first + block.advance * segment);
    return elements;
}

}  // namespace

ExecutedSteps::ExecutedSteps(const Program& program, const BufferSize& size, Wanted wanted)
    : program_(program),
      element_bytes_(size.element_bytes),
      partition_(program.partition(size.elements)),
      wanted_(std::move(wanted)),
      touches_(wanted_.own || std::ranges::any_of(program.blocks, is_mapped)) {}

ExecutedStep ExecutedSteps::read(const Step& step, std::uint32_t segment) const {
    const bool waits = step.kind == StepKind::wait;
    const bool reduces = step.kind == StepKind::reduce;
    ExecutedStep executed{.kind = step.kind,
                          .message = raises_flag(step.kind),
                          .peer = step.kind == StepKind::publish ? kNoRank : step.peer,
                          .published = waits && (step.flags & kFromPublished) != 0,
                          .lagged = step.lag > 0,
                          .segment = segment,
                          .shared = (step.flags & kShared) != 0,
                          .operands = step.operands};
    // A wait with a lag is for the signal raised `lag` segments before.
    const std::uint32_t raised =
        waits ? segment - std::min<std::uint32_t>(segment, step.lag) : segment;
    executed.key = std::uint64_t{step.signal} * program_.segments + raised;
    if (step.kind > StepKind::loop) executed.pause = step.signal * kPicosecondsPerNanosecond;
    // An exposed block is named, not sent.
    if ((executed.message && step.kind != StepKind::expose) || reduces)
        executed.bytes = element_bytes_ * elements_of(program_, partition_, step.source, segment,
                                                      reduces ? step.operands : 1);
    if (waits && !executed.published && program_.units > 0)
        executed.room = program_.capacity_of(step.signal) * partition_.elements() / program_.units *
                        element_bytes_;
    if (touches_) {
        const Touched touched = touched_by(program_, partition_, step, segment, wanted_.own);
        executed.mapped_vectors = touched.mapped_vectors;
        executed.mapped_bytes = touched.mapped * element_bytes_;
        executed.own_bytes = touched.own * element_bytes_;
        executed.slot_bytes = touched.slots * element_bytes_;
    }
    if (!wanted_.unpacked.empty() && (reduces || step.kind == StepKind::copy))
        executed.unpacked_bytes =
            element_bytes_ * slot_elements(program_, partition_, step, segment, wanted_.unpacked);
    if (wanted_.memory)
        executed.memory_bytes =
            element_bytes_ * memory_elements(program_, partition_, step, segment);
    return executed;
}

std::uint64_t elements_in(const Partition& partition, const Block& block, std::uint32_t first) {
    if (block.stride == 1) return partition.size(first, block.count);
    const std::uint64_t most = partition.unit_max();
    if (most * partition.units() == partition.elements()) return block.count * most;
    std::uint64_t elements = 0;
    for (std::uint32_t i = 0; i < block.count; ++i)
        elements += partition.size(first + i * block.stride);
    return elements;
}

std::uint64_t buffer_bytes(const Program& program, const BufferSize& size) {
    const Partition partition = program.partition(size.elements);
    std::uint64_t elements = 0;
    for (const Buffer buffer : {Buffer::input, Buffer::output}) {
        std::uint32_t first = program.units;
        std::uint32_t end = 0;
        for (const Block& block : program.blocks) {
            if (block.buffer != buffer) continue;
            first = std::min(first, block.first);
            end = std::max(end, block.first + (block.count - 1) * block.stride + 1 +
                                    block.advance * (program.segments - 1));
        }
        end = std::min(end, program.units);
        if (first < end) elements += partition.size(first, end - first);
    }
    if (program.segments > 1) return elements * size.element_bytes;
    for (const Step& step : program.steps)
        if (step.kind == StepKind::put)
            elements += elements_of(program, partition, step.source, 0, 1);
    return elements * size.element_bytes;
}

std::vector<bool> slots_filled_by(const Program& program, const std::function<bool(Rank)>& holds) {
    std::vector<bool> slots(program.slots);
    for (const Step& step : program.steps)
        if (step.kind == StepKind::wait && holds(step.peer)) slots[step.signal] = true;
    return slots;
}

std::uint32_t exposed_vectors(const Program& program,
                              const std::function<bool(Rank peer)>& is_near) {
    std::array<bool, 2> exposed{};
    for (const Step& step : program.steps) {
        if (step.kind != StepKind::expose || !is_near(step.peer)) continue;
        for (const Block& block : blocks_of(program, step.source)) {
            if (block.buffer == Buffer::input || block.buffer == Buffer::output)
                exposed[block.buffer == Buffer::output ? 1 : 0] = true;
        }
    }
    return static_cast<std::uint32_t>(std::ranges::count(exposed, true));
}

std::uint64_t exposed_slot_bytes(const Program& program, const BufferSize& size,
                                 const std::function<bool(Rank peer)>& is_near) {
    const auto slots = slots_filled_by(program, [&](Rank peer) { return !is_near(peer); });
    const Partition partition = program.partition(size.elements);
    std::uint64_t elements = 0;
    for (const Step& step : program.steps)
        if (step.kind == StepKind::expose && is_near(step.peer))
            elements += slot_elements(program, partition, step, 0, slots);
    return elements * size.element_bytes;
}

}  // namespace weft::plan
