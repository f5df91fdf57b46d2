// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/builder.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::plan {

Builder::Builder(Program header) : program_(std::move(header)) {
    program_.steps.clear();
    program_.lanes.clear();
    program_.blocks.clear();
    constexpr std::size_t kUsualSize = 96;  // enough for most programs without a reallocation
    program_.steps.reserve(kUsualSize);
    program_.blocks.reserve(kUsualSize);
}

/// Adds a list of blocks, and raises the number of scratch buffers if necessary.
BlockList Builder::add_list(std::span<const Block> list) {
    for (const Block& block : list) {
        if (block.buffer == Buffer::scratch)
            program_.scratch = std::max(program_.scratch, block.index + 1);
    }
    return index_.add_to(program_, list);
}

Step& Builder::add(StepKind kind, Rank peer, std::uint32_t signal, std::uint8_t flags) {
    reserve_slots(signal + 1);
    return program_.steps.emplace_back(
        Step{.kind = kind, .flags = flags, .peer = peer, .signal = signal});
}

void Builder::put(Rank peer, std::uint32_t signal, Block source, std::uint8_t flags) {
    put(peer, signal, std::span(&source, 1), flags);
}

void Builder::put(Rank peer, std::uint32_t signal, std::span<const Block> source,
                  std::uint8_t flags) {
    const BlockList list = add_list(source);
    reserve_slot_units(as_u32(units_of(source)));
    add(StepKind::put, peer, signal, flags).source = list;
}

void Builder::put_mapped(Rank peer, std::uint32_t signal, Block target, Block source) {
    WEFT_CHECK(target.buffer == Buffer::mapped && target.peer == peer, target.peer, peer);
    const BlockList to = add_list(std::span(&target, 1));
    const BlockList from = add_list(std::span(&source, 1));
    Step& step = add(StepKind::put, peer, signal, 0);
    step.target = to;
    step.source = from;
}

void Builder::signal(Rank peer, std::uint32_t signal, std::uint8_t flags, std::uint16_t lag) {
    add(StepKind::signal, peer, signal, flags).lag = lag;
}

void Builder::expose(Rank peer, std::uint32_t signal, Block block, std::uint8_t flags) {
    const BlockList list = add_list(std::span(&block, 1));
    add(StepKind::expose, peer, signal, flags).source = list;
}

void Builder::publish(std::uint32_t signal, Block source) {
    const BlockList list = add_list(std::span(&source, 1));
    reserve_slot_units(source.count);
    add(StepKind::publish, kNoRank, signal, 0).source = list;
}

void Builder::publish(std::uint32_t signal) {
    add(StepKind::publish, kNoRank, signal, 0);
}

void Builder::wait(Rank peer, std::uint32_t signal, std::uint8_t flags, std::uint16_t lag) {
    add(StepKind::wait, peer, signal, flags).lag = lag;
}

void Builder::flush() {
    program_.steps.push_back(Step{.kind = StepKind::flush});
}

void Builder::reduce(Block target, std::initializer_list<Block> operands) {
    reduce(target, std::span(operands.begin(), operands.size()));
}

void Builder::reduce(Block target, std::span<const Block> operands) {
    reduce_lists(std::span(&target, 1), operands);
}

void Builder::reduce(std::span<const Block> targets, std::span<const Block> operands) {
    WEFT_CHECK(!targets.empty() && !operands.empty(), targets.size(), operands.size());
    const BlockList to = add_list(targets);
    const BlockList from = add_list(operands);
    program_.steps.push_back(
        Step{.kind = StepKind::reduce, .operands = from.count, .target = to, .source = from});
}

void Builder::reduce_lists(std::span<const Block> target, std::span<const Block> operands) {
    WEFT_CHECK(!target.empty() && !operands.empty() && operands.size() % target.size() == 0,
               target.size(), operands.size());
    const BlockList to = add_list(target);
    const BlockList from = add_list(operands);
    program_.steps.push_back(Step{.kind = StepKind::reduce,
                                  .operands = as_u32(operands.size() / target.size()),
                                  .target = to,
                                  .source = from});
}

void Builder::copy(Block target, Block source) {
    copy(std::span(&target, 1), std::span(&source, 1));
}

void Builder::copy(std::span<const Block> target, std::span<const Block> source) {
    WEFT_CHECK(units_of(target) == units_of(source), units_of(target), units_of(source));
    const BlockList to = add_list(target);
    const BlockList from = add_list(source);
    program_.steps.push_back(Step{.kind = StepKind::copy, .target = to, .source = from});
}

void Builder::begin_loop(std::uint32_t times) {
    WEFT_CHECK(open_loop_ < 0, open_loop_);
    open_loop_ = static_cast<std::int64_t>(program_.steps.size());
    program_.steps.push_back(Step{.kind = StepKind::loop, .operands = times});
}

void Builder::end_loop() {
    WEFT_CHECK(open_loop_ >= 0);
    const auto start = static_cast<std::size_t>(open_loop_);
    const std::size_t body_steps = program_.steps.size() - start - 1;
    if (body_steps == 0)
        program_.steps.pop_back();
    else
        program_.steps[start].signal = as_u32(body_steps);
    open_loop_ = -1;
}

void Builder::begin_lane() {
    WEFT_CHECK(open_loop_ < 0, open_loop_);
    const auto end = as_u32(program_.steps.size());
    if (end > lane_first_) program_.lanes.push_back({lane_first_, end - lane_first_});
    lane_first_ = end;
}

void Builder::reserve_slots(std::uint32_t slots) {
    program_.slots = std::max(program_.slots, slots);
}

void Builder::reserve_steps(std::size_t steps) {
    program_.steps.reserve(steps);
    program_.blocks.reserve(steps / 2);
}

void Builder::reserve_slot_units(std::uint32_t units) {
    program_.slot_units = std::max(program_.slot_units, units);
}

void Builder::reserve_capacities(std::uint32_t first, std::uint32_t count, std::uint32_t units) {
    if (count == 0) return;
    std::vector<std::uint32_t>& capacities = program_.slot_capacity;
    if (capacities.size() < first + count) capacities.resize(first + count);
    for (std::uint32_t& capacity : std::span(capacities).subspan(first, count))
        capacity = std::max(capacity, units);
    reserve_slots(first + count);
    reserve_slot_units(units);
}

Program Builder::finish() && {
    begin_lane();
    if (!program_.slot_capacity.empty()) {
        program_.slot_capacity.resize(program_.slots);
        for (const Step& step : program_.steps) {
            if (step.kind != StepKind::put || step.target.count != 0) continue;
            const std::uint64_t units = units_of(blocks_of(program_, step.source));
            reserve_capacity(step.signal, as_u32(units));
        }
    }
    if (interleaves_) plan::interleave(program_);
    return std::move(program_);
}

}  // namespace weft::plan
