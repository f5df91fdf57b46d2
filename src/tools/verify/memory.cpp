// SPDX-License-Identifier: BSD-3-Clause
#include "tools/verify/memory.hpp"

#include <algorithm>

namespace weft::plan {

Memory::Memory(std::span<const Program> programs, const Contract* contract,
               std::vector<bool> in_place, Order& order, Values& values, Reason& reason)
    : programs_(programs),
      in_place_(std::move(in_place)),
      order_(order),
      values_(values),
      reason_(reason) {
    std::uint32_t cells = 0;
    for (const Program& program : programs) {
        base_.push_back(cells);
        const auto rank = static_cast<std::size_t>(program.rank);
        cells += program.units * (program.scratch + (in_place_[rank] ? 1 : 2));
    }
    cells_.resize(cells);
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
        const Program& program = programs[rank];
        const UnitRange input =
            contract == nullptr ? UnitRange{0, program.units} : contract->input_of(program);
        for (std::uint32_t unit = 0; unit < program.units; ++unit)
            if (input.holds(unit)) cells_[base_[rank] + unit].value = kUnread;
        if (contract != nullptr && contract->output)
            outputs_.push_back(contract->output_of(program));
    }
}

std::uint32_t Memory::cell(Rank rank, const Block& block, std::uint32_t unit) const {
    const auto index = static_cast<std::size_t>(rank);
    // Cells are stored as input, output, scratch 0, ...; in place as input and output, scratch 0.
    std::uint32_t buffer = 0;
    if (block.buffer == Buffer::output) buffer = in_place_[index] ? 0 : 1;
    if (block.buffer == Buffer::scratch) buffer = block.index + (in_place_[index] ? 1 : 2);
    return base_[index] + buffer * programs_[index].units + unit;
}

Value Memory::value_of(std::uint32_t cell) {
    Value& value = cells_[cell].value;
    if (value == kUnread) {
        const Location at = location_of(cell);
        value = values_.leaf(static_cast<Rank>(at.rank), at.unit);
    }
    return value;
}

bool Memory::read(std::uint32_t cell, std::uint32_t lane, const Access& access,
                  std::uint32_t position, Value& value) {
    UnitState& at = cells_[cell];
    if (at.written.kind != Access::EndKind::none && !order_.before(at.written, lane))
        return reason_.fail("reads {} while {}", name(cell), pending(at.written));
    value = value_of(cell);
    if (value == kUndefined) return reason_.fail("reads {}, which nothing has written", name(cell));
    const bool at_two_positions = at.read_step == access.step && at.read_position != position;
    at.read_step = access.step;
    at.read_position = at_two_positions ? kManyPositions : position;
    at.reads.add(access, order_);
    return true;
}

bool Memory::write(std::uint32_t cell, std::uint32_t lane, const Access& access,
                   std::uint32_t position, Value value) {
    UnitState& at = cells_[cell];
    const Location location = location_of(cell);
    if (location.buffer == 0) return reason_.fail("writes {}, but inputs are constant", name(cell));
    if (location.buffer == 1 && !outputs_.empty() && !outputs_[location.rank].holds(location.unit))
        return reason_.fail("writes {}, which that rank does not have", name(cell));
    if (at.written.kind != Access::EndKind::none) {
        if (at.written.step == access.step) return reason_.fail("writes {} twice", name(cell));
        if (!order_.before(at.written, lane))
            return reason_.fail("overwrites {} while {}", name(cell), pending(at.written));
    }
    if (at.read_step == access.step && at.read_position != position)
        return reason_.fail(
            "overwrites {}, which it also reads at another position of its operands", name(cell));
    const Access* const reader = at.reads.find_unfinished(order_, lane);
    if (reader != nullptr)
        return reason_.fail("overwrites {} while {}", name(cell), pending(*reader));
    at.value = value;
    at.written = access;
    at.reads.clear();
    return true;
}

Value Memory::final_output(Rank rank, std::uint32_t unit) {
    return value_of(cell(rank, {.buffer = Buffer::output}, unit));
}

Memory::Location Memory::location_of(std::uint32_t cell) const {
    const auto after = std::ranges::upper_bound(base_, cell);
    const auto rank = static_cast<std::size_t>(after - base_.begin()) - 1;
    const std::uint32_t units = programs_[rank].units;
    const std::uint32_t offset = cell - base_[rank];
    return {rank, offset / units + (in_place_[rank] ? 1 : 0), offset % units};
}

std::string Memory::name(std::uint32_t cell) const {
    const auto [rank, buffer, unit] = location_of(cell);
    if (buffer == 0) return fmt::format("input[{}] of rank {}", unit, rank);
    if (buffer == 1) return fmt::format("output[{}] of rank {}", unit, rank);
    return fmt::format("scratch {}[{}] of rank {}", buffer - 2, unit, rank);
}

/// Describes an access that may not have ended, for the end of a message.
std::string Memory::pending(const Access& access) const {
    const std::string who = order_.name(access.step);
    switch (access.kind) {
        case Access::EndKind::until_flush:
            return fmt::format("the put of {} may still read it (no `flush` in between)", who);
        case Access::EndKind::until_awaited:
            return fmt::format("the put of {} into it is not known to have been awaited", who);
        default:
            return fmt::format("{} may be using it (nothing orders the two)", who);
    }
}

}  // namespace weft::plan
