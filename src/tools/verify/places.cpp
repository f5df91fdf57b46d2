// SPDX-License-Identifier: BSD-3-Clause
#include "tools/verify/places.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::plan {

Sizes::Sizes(std::span<const Program> programs, std::uint64_t elements) {
    uneven_ = std::ranges::any_of(
        programs, [](const Program& program) { return !program.unit_counts.empty(); });
    for (const Program& program : programs.first(uneven_ ? programs.size() : 1)) {
        const Partition partition = program.partition(elements);
        std::vector<std::uint64_t>& starts = starts_.emplace_back();
        starts.reserve(program.units + 1);
        for (std::uint32_t unit = 0; unit <= program.units; ++unit)
            starts.push_back(partition.begin(unit));
    }
}

Places::Places(std::span<const Program> programs, const Sizes& sizes, Memory& memory,
               Arrivals& arrivals, Order& order, Reason& reason)
    : programs_(programs),
      sizes_(sizes),
      memory_(memory),
      arrivals_(arrivals),
      order_(order),
      reason_(reason),
      accesses_(programs.size()) {}

bool Places::resolve(const Site& site, std::span<const Block> blocks,
                     std::vector<UnitPlace>& places) {
    places.clear();
    Packed packed;
    for (const Block& block : blocks)
        if (!resolve_block(site, at_segment(block, site.segment), packed, places)) return false;
    return true;
}

bool Places::resolve_block(const Site& site, const Block& block, Packed& packed,
                           std::vector<UnitPlace>& places) {
    if (block.count == 0) return true;
    const std::uint64_t last = block.first + std::uint64_t{block.count - 1} * block.stride;
    const Program& program = programs_[site.rank];
    if (last >= program.units)
        return reason_.fail("names unit {}, but buffers have {} units", last, program.units);
    if (block.origin > program.units)
        return reason_.fail("has origin {}, but there are {} units", block.origin, program.units);
    const std::size_t known = places.size();
    const bool resolved = is_payload(block.buffer) ? resolve_payload(site, block, packed, places)
                                                   : resolve_own_buffer(site.rank, block, places);
    if (!resolved) return false;
    packed.units += block.count;
    for (std::size_t i = known; i < places.size(); ++i) packed.elements += places[i].size;
    return true;
}

bool Places::resolve_own_buffer(Rank rank, const Block& block, std::vector<UnitPlace>& places) {
    for (std::uint32_t i = 0; i < block.count; ++i) {
        const std::uint32_t unit = block.first + i * block.stride;
        places.push_back(
            {.cell = memory_.cell(rank, block, unit), .size = sizes_.size(rank, unit)});
    }
    return true;
}

bool Places::resolve_payload(const Site& site, const Block& block, const Packed& packed,
                             std::vector<UnitPlace>& places) {
    std::uint32_t raise = kNone;
    if (!find_raise(site, block, raise)) return false;
    // Only consecutive units have an origin. Units with a stride follow the list's earlier blocks.
    const std::uint32_t origin = block.stride == 1 ? block.origin : block.first;
    if (block.first < origin)
        return reason_.fail("names unit {} of a payload whose first unit is {}", block.first,
                            origin);
    const Packed before = block.buffer == Buffer::mapped ? Packed{} : packed;
    std::uint64_t index = before.units + block.first - origin;
    std::uint64_t offset =
        before.elements + sizes_.begin(site.rank, block.first) - sizes_.begin(site.rank, origin);
    for (std::uint32_t i = 0; i < block.count; ++i) {
        const std::uint32_t unit = block.first + i * block.stride;
        UnitPlace place{.raise = raise, .size = sizes_.size(site.rank, unit)};
        const bool found = block.buffer == Buffer::mapped
                               ? place_in_exposed(raise, index, offset, place)
                               : place_in_payload(raise, index, offset, place);
        if (!found)
            return reason_.fail("finds no unit of {} elements at element {} of the payload of {}",
                                place.size, offset, order_.name(order_.raises()[raise].step));
        ++index;
        offset += place.size;
        places.push_back(place);
    }
    return true;
}

bool Places::find_raise(const Site& site, const Block& block, std::uint32_t& id) {
    if (block.buffer == Buffer::published)
        return arrivals_.find_published(site.lane, site.rank, block.peer, block.index, site.segment,
                                        id);
    if (!arrivals_.find_slot(site.lane, site.rank, block.index, site.segment, id)) return false;
    const Raise& raise = order_.raises()[id];
    if (block.buffer == Buffer::slot) {
        if (raise.kind == StepKind::put && raise.units > 0) return true;
        return reason_.fail("reads slot {}, where {} put no payload", block.index,
                            order_.name(raise.step));
    }
    if (raise.kind == StepKind::expose && raise.sender == block.peer) return true;
    return reason_.fail("uses mapped block {} of rank {}, but {} exposes no memory of that rank",
                        block.index, block.peer, order_.name(raise.step));
}

bool Places::place_in_payload(std::uint32_t id, std::uint64_t index, std::uint64_t offset,
                              UnitPlace& place) {
    const Raise& raise = order_.raises()[id];
    if (index >= raise.units) return false;
    place.raise = id;
    place.carried = raise.payload + as_u32(index);
    const Carried& carried = arrivals_.payloads()[place.carried];
    return carried.offset == offset && carried.size == place.size;
}

bool Places::place_in_exposed(std::uint32_t id, std::uint64_t index, std::uint64_t offset,
                              UnitPlace& place) {
    const Raise& raise = order_.raises()[id];
    const Block& block = raise.exposed;
    place.exposed = id;
    if (index >= block.count) return false;
    if (raise.exposed_slot != kNone) {
        const std::uint32_t skipped = block.first - block.origin;
        return place_in_payload(raise.exposed_slot, index + skipped,
                                offset + sizes_.begin(raise.sender, block.first) -
                                    sizes_.begin(raise.sender, block.origin),
                                place);
    }
    const std::uint32_t unit = block.first + as_u32(index);
    const std::uint64_t after_start =
        sizes_.begin(raise.sender, unit) - sizes_.begin(raise.sender, block.first);
    if (after_start != offset || sizes_.size(raise.sender, unit) != place.size) return false;
    place.raise = kNone;
    place.owner = raise.sender;
    place.cell = memory_.cell(raise.sender, block, unit);
    return true;
}

void Places::record(const Site& site, const UnitPlace& place, const Access& access) {
    if (place.exposed == kNone) return;
    arrivals_.add_read(place.exposed, access);
    if (place.owner == kNoRank || place.owner == site.rank) return;
    std::vector<Access>& accesses = accesses_[place.owner];
    if (!accesses.empty() && accesses.back().step == access.step) return;
    accesses.push_back(access);
}

bool Places::read(const Site& site, const UnitPlace& place, const Access& access,
                  std::uint32_t position, Value& value) {
    record(site, place, access);
    if (place.cell != kNone) return memory_.read(place.cell, site.lane, access, position, value);
    value = arrivals_.payloads()[place.carried].value;
    arrivals_.add_read(place.raise, access);
    return true;
}

bool Places::write(const Site& site, const UnitPlace& place, const Access& access,
                   std::uint32_t position, Value value) {
    if (place.cell == kNone)
        return reason_.fail("writes into a slot or a published cell (only puts and publishes do)");
    if (place.exposed != kNone && !order_.raises()[place.exposed].written)
        return reason_.fail("writes {}, which {} exposed for reading only",
                            memory_.name(place.cell),
                            order_.name(order_.raises()[place.exposed].step));
    record(site, place, access);
    return memory_.write(place.cell, site.lane, access, position, value);
}

bool Places::expose(const Site& site, const Block& block, Raise& raise) {
    raise.exposed = at_segment(block, site.segment);
    const std::uint64_t end = std::uint64_t{raise.exposed.first} + block.count;
    if (end > programs_[site.rank].units)
        return reason_.fail("exposes unit {}, which does not exist", end - 1);
    if (block.buffer != Buffer::slot) return true;
    if (raise.exposed.first < raise.exposed.origin)
        return reason_.fail("exposes unit {} of the payload in slot {}, whose first unit is {}",
                            raise.exposed.first, block.index, raise.exposed.origin);
    return arrivals_.find_slot(site.lane, site.rank, block.index, site.segment, raise.exposed_slot);
}

bool Places::check_owners_end_last(std::span<const std::uint32_t> lane_starts) {
    for (std::size_t owner = 0; owner < accesses_.size(); ++owner) {
        const std::vector<Access>& accesses = accesses_[owner];
        if (accesses.empty()) continue;
        order_.begin_past(std::ranges::min_element(accesses, {}, &Access::step)->step);
        for (std::uint32_t lane = lane_starts[owner]; lane < lane_starts[owner + 1]; ++lane)
            order_.add_to_past(lane);
        for (const Access& access : accesses) {
            if (order_.in_past(access)) continue;
            return reason_.fail(
                "{} uses memory of rank {}, whose program may end first: it waits for no signal "
                "that follows this access (a done signal is missing)",
                order_.name(access.step), owner);
        }
    }
    return true;
}

}  // namespace weft::plan
