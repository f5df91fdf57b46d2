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

/// Counts the elements of blocks in one segment.
struct ElementCounter {
    const Program& program;
    const Partition& partition;
    std::uint32_t segment = 0;

    [[nodiscard]] std::uint64_t count(const Block& block) const {
        return elements_in(partition, block, block.first + block.advance * segment);
    }
    /// Counts the first of `parts` equal parts of a list.
    [[nodiscard]] std::uint64_t count(BlockList list, std::uint32_t parts = 1) const {
        std::uint64_t elements = 0;
        for (const Block& block : blocks_of(program, {list.start, list.count / parts}))
            elements += count(block);
        return elements;
    }
    /// Counts the blocks of a list for which selects() is true.
    template <class Selects>
    [[nodiscard]] std::uint64_t count_if(BlockList list, const Selects& selects) const {
        std::uint64_t elements = 0;
        for (const Block& block : blocks_of(program, list))
            if (selects(block)) elements += count(block);
        return elements;
    }
};

/// Counts of ExecutedStep, in elements instead of bytes.
struct Touched {
    std::uint32_t mapped_buffers = 0;
    std::uint64_t mapped = 0;
    std::uint64_t own = 0;
    std::uint64_t slots = 0;
};

/// Returns how many of `parts` equal parts of a list are in memory of local peers.
std::uint32_t mapped_parts(const Program& program, BlockList list, std::uint32_t parts) {
    const auto blocks = blocks_of(program, list);
    const std::size_t part_blocks = blocks.size() / parts;
    std::uint32_t mapped = 0;
    for (std::size_t first = 0; first < blocks.size(); first += part_blocks)
        mapped += std::ranges::any_of(blocks.subspan(first, part_blocks), is_mapped) ? 1 : 0;
    return mapped;
}

/// Returns the touched elements of a reduction. Its first target is part of the reduction; the
/// other targets are copies.
Touched touched_by_reduction(const ElementCounter& counter, const Step& step) {
    const std::uint32_t targets = step.target.count / (step.source.count / step.operands);
    const std::uint32_t read = mapped_parts(counter.program, step.source, step.operands);
    const std::uint32_t written = mapped_parts(counter.program, step.target, targets);
    if (written == 0) return {.mapped_buffers = read};
    return {.mapped_buffers = read + written,
            .mapped = (targets - 1) * counter.count(step.target, targets)};
}

/// Returns true if the step copies one block to the same units of a buffer in the same memory.
bool is_free_copy(const Program& program, const Step& step) {
    if (step.source.count != 1 || step.target.count != 1) return false;
    const Block& from = program.blocks[step.source.start];
    Block to = program.blocks[step.target.start];
    if (is_payload(from.buffer) || is_payload(to.buffer)) return false;
    if (from.buffer != Buffer::scratch && to.buffer != Buffer::scratch &&
        (program.root == kNoRank || from.count < program.units))
        return false;
    to.buffer = from.buffer;
    to.index = from.index;
    return to == from;
}

Touched touched_by_copy(const ElementCounter& counter, const Step& step, bool count_own) {
    const Program& program = counter.program;
    const bool mapped =
        mapped_parts(program, step.target, 1) + mapped_parts(program, step.source, 1) > 0;
    if (!mapped && (!count_own || is_free_copy(program, step))) return {};
    const std::uint64_t copied = counter.count(step.target);
    if (mapped) return {.mapped_buffers = 1, .mapped = copied};
    const std::uint64_t slots = counter.count_if(
        step.source, [](const Block& block) { return block.buffer == Buffer::slot; });
    return {.own = copied - std::min(copied, slots), .slots = slots};
}

/// Returns true if the preceding step writes the first operand.
bool reads_previous_result(const Program& program, const Step& step) {
    if (&step == program.steps.data()) return false;
    const Step& before = *(&step - 1);
    if (before.kind != StepKind::copy && before.kind != StepKind::reduce) return false;
    return std::ranges::equal(blocks_of(program, before.target),
                              blocks_of(program, operand_of(step, 0)));
}

/// Returns the elements of ExecutedStep::memory_bytes.
std::uint64_t memory_elements(const ElementCounter& counter, const Step& step) {
    const bool counts_slots = counter.program.segments == 1;
    if (step.kind == StepKind::put) return counter.count(step.source) * (counts_slots ? 2 : 1);
    const bool reduces = step.kind == StepKind::reduce;
    if (!reduces && (step.kind != StepKind::copy || is_free_copy(counter.program, step))) return 0;
    const auto in_memory = [&](const Block& block) {
        return counts_slots || block.buffer != Buffer::slot;
    };
    const std::uint64_t elements =
        counter.count_if(step.target, in_memory) + counter.count_if(step.source, in_memory);
    const bool is_cached = reduces && reads_previous_result(counter.program, step);
    return elements - (is_cached ? counter.count(step.source, step.operands) : 0);
}

/// Returns the elements that the step reads out of the selected put targets.
std::uint64_t slot_elements(const ElementCounter& counter, const Step& step,
                            const std::vector<bool>& selected) {
    return counter.count_if(step.source, [&](const Block& block) {
        return block.buffer == Buffer::slot && selected[block.index];
    });
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
    const bool copies = step.kind == StepKind::copy;
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
    if (step.kind == StepKind::sleep || step.kind == StepKind::compute)
        executed.pause = step.signal * kPicosecondsPerNanosecond;
    const ElementCounter counter{program_, partition_, segment};
    // An exposed block is named, not sent.
    if ((executed.message && step.kind != StepKind::expose) || reduces)
        executed.bytes = element_bytes_ * counter.count(step.source, reduces ? step.operands : 1);
    if (waits && !executed.published && program_.units > 0)
        executed.room = program_.capacity_of(step.signal) * partition_.elements() / program_.units *
                        element_bytes_;
    if (touches_ && (reduces || copies) && step.source.count != 0 && step.target.count != 0) {
        const Touched touched = reduces ? touched_by_reduction(counter, step)
                                        : touched_by_copy(counter, step, wanted_.own);
        executed.mapped_buffers = touched.mapped_buffers;
        executed.mapped_bytes = touched.mapped * element_bytes_;
        executed.own_bytes = touched.own * element_bytes_;
        executed.slot_bytes = touched.slots * element_bytes_;
    }
    if (!wanted_.unpacked.empty() && (reduces || copies))
        executed.unpacked_bytes = element_bytes_ * slot_elements(counter, step, wanted_.unpacked);
    if (wanted_.memory) executed.memory_bytes = element_bytes_ * memory_elements(counter, step);
    return executed;
}

std::uint64_t elements_in(const Partition& partition, const Block& block, std::uint32_t first) {
    if (block.stride == 1) return partition.size(first, block.count);
    const std::uint64_t unit_max = partition.unit_max();
    if (unit_max * partition.units() == partition.elements()) return block.count * unit_max;
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
            elements += ElementCounter{program, partition}.count(step.source);
    return elements * size.element_bytes;
}

std::vector<bool> slots_filled_by(const Program& program, const std::function<bool(Rank)>& holds) {
    std::vector<bool> slots(program.slots);
    for (const Step& step : program.steps)
        if (step.kind == StepKind::wait && holds(step.peer)) slots[step.signal] = true;
    return slots;
}

std::uint32_t exposed_buffers(const Program& program,
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
            elements += slot_elements({program, partition}, step, slots);
    return elements * size.element_bytes;
}

CostedSteps::CostedSteps(const Program& program, const BufferSize& size, const PutModels& models,
                         std::uint32_t iterations)
    : program_(program),
      models_(models),
      cold_fs_(models.model.is_cold(size.elements * size.element_bytes)
                   ? models.model.cold_fs_of(buffer_bytes(program, size))
                   : 0),
      steps_(program, size, wanted(size, iterations)) {}

ExecutedSteps::Wanted CostedSteps::wanted(const BufferSize& size, std::uint32_t iterations) const {
    ExecutedSteps::Wanted wanted{
        .own = models_.model.copy_byte_fs > 0, .memory = cold_fs_ > 0, .iterations = iterations};
    if (remote().unpacks(size.elements * size.element_bytes))
        wanted.unpacked =
            slots_filled_by(program_, [&](Rank peer) { return !models_.far || is_far(peer); });
    return wanted;
}

Time CostedSteps::expose_time() const {
    if (models_.model.expose == 0) return 0;
    return models_.model.expose *
           exposed_buffers(program_, [&](Rank peer) { return !is_far(peer); });
}

CostedStep CostedSteps::costed(const ExecutedStep& step) const {
    using Kind = CostedStep::Kind;
    const MessageModel& local = models_.model;
    const bool far = is_far(step.peer);
    const MessageModel& model = far ? models_.far->model : local;
    const Time memory = to_time(static_cast<std::int64_t>(step.memory_bytes) * cold_fs_);
    CostedStep costed{.published = step.published,
                      .exposes = step.kind == StepKind::expose,
                      .lagged = step.lagged,
                      .segment = step.segment,
                      .peer = step.peer,
                      .key = step.key};
    if (step.peer == program_.rank) {  // a signal between lanes takes no time
        costed.kind = step.kind == StepKind::wait ? Kind::wait : Kind::send;
    } else if (step.kind == StepKind::wait) {
        costed.kind = Kind::wait;
        costed.busy = local.receive;
        costed.latency = model.latency;
        costed.hold = far ? models_.far->card.held(step.room) : 0;
        costed.taken = model.receive_bytes(step.room);
    } else if (step.message) {
        costed.kind = step.kind == StepKind::publish ? Kind::publish : Kind::send;
        costed.memory = step.kind == StepKind::put && !far ? memory : 0;
        costed.busy = model.busy(step.bytes) + costed.memory;
        costed.latency = model.latency;
        costed.hold = far ? models_.far->card.held(step.bytes) : 0;
        costed.two_way = model.two_way_time(step.bytes);
        costed.taken = model.receive_bytes(step.bytes);
    } else {
        if (step.kind == StepKind::reduce)
            costed.busy = local.combine(step.bytes, step.operands, step.mapped_buffers > 0);
        costed.busy += step.pause + memory + local.touch(step.mapped_buffers, step.mapped_bytes) +
                       local.copy(step.own_bytes) + remote().unpack(step.unpacked_bytes);
    }
    return costed;
}

}  // namespace weft::plan
