// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/neighborhood/stencil.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace weft::collectives {

std::int64_t Grid::ranks() const {
    std::int64_t ranks = 1;
    for (const Rank extent : extents_) ranks *= extent;
    return ranks;
}

bool Grid::is_valid() const {
    if (extents_.empty() || periodic_.size() != extents_.size()) return false;
    std::int64_t ranks = 1;
    for (const Rank extent : extents_) {
        if (extent < 1 || ranks > std::numeric_limits<Rank>::max() / extent) return false;
        ranks *= extent;
    }
    return true;
}

Coordinates Grid::coordinates_of(Rank rank) const {
    Coordinates coordinates(extents_.size());
    for (std::size_t i = extents_.size(); i-- > 0; rank /= extents_[i])
        coordinates[i] = rank % extents_[i];
    return coordinates;
}

Rank Grid::rank_at(const Coordinates& coordinates) const {
    std::int64_t rank = 0;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        const std::int64_t extent = extents_[i];
        std::int64_t at = coordinates[i];
        if (periodic_[i]) at = (at % extent + extent) % extent;
        if (at < 0 || at >= extent) return plan::kNoRank;
        rank = rank * extent + at;
    }
    return static_cast<Rank>(rank);
}

base::Result<Stencil> Stencil::make(Grid grid, std::vector<Coordinates> offsets) {
    if (!grid.is_valid())
        return base::fail(Status::argument,
                          "grid: at least one dimension is needed, of 1 rank or more each");
    if (offsets.empty()) return base::fail(Status::argument, "offsets: none given");
    std::map<Coordinates, std::uint32_t> numbers;
    for (const Coordinates& offset : offsets) {
        const auto number = static_cast<std::uint32_t>(numbers.size());
        if (offset.size() != grid.dimensions())
            return base::fail(Status::argument, "offset {}: it has {} parts, the grid {}", number,
                              offset.size(), grid.dimensions());
        if (!numbers.emplace(offset, number).second)
            return base::fail(Status::argument, "offset {}: it was given before", number);
    }
    Stencil stencil(std::move(grid), std::move(offsets));
    for (const Coordinates& offset : stencil.offsets_) {
        Coordinates back = offset;
        for (std::int64_t& part : back) part = -part;
        const auto found = numbers.find(back);
        if (found == numbers.end())
            return base::fail(Status::argument, "offset {}: its opposite is missing",
                              stencil.opposite_.size());
        stencil.opposite_.push_back(found->second);
    }
    return stencil;
}

Rank Stencil::neighbor(Rank rank, std::uint32_t index) const {
    Coordinates at = grid_.coordinates_of(rank);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += offsets_[index][i];
    return grid_.rank_at(at);
}

std::vector<Coordinates> box_offsets(int dimensions, int reach) {
    std::vector<Coordinates> offsets;
    Coordinates offset(static_cast<std::size_t>(dimensions), -reach);
    while (true) {
        if (std::ranges::any_of(offset, [](std::int64_t part) { return part != 0; }))
            offsets.push_back(offset);
        std::size_t last = offset.size();
        while (last > 0 && offset[last - 1] == reach) offset[--last] = -reach;
        if (last == 0) return offsets;
        ++offset[last - 1];
    }
}

std::vector<Coordinates> star_offsets(int dimensions, int reach) {
    std::vector<Coordinates> offsets;
    for (int axis = 0; axis < dimensions; ++axis) {
        for (int far = 1; far <= reach; ++far) {
            for (const int part : {-far, far}) {
                Coordinates offset(static_cast<std::size_t>(dimensions), 0);
                offset[static_cast<std::size_t>(axis)] = part;
                offsets.push_back(std::move(offset));
            }
        }
    }
    return offsets;
}

}  // namespace weft::collectives
