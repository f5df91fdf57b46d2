// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/patterns/levels.hpp"

#include <algorithm>
#include <ranges>

namespace weft::collectives::patterns {

Split::Place Split::place_of(Rank outer) const {
    if (outer >= grouped) return {.inner = outer - grouped / base * (base - 1)};
    Place place{.group = outer / base, .position = outer % base};
    if (place.position == base - 1) place.inner = place.group;
    return place;
}

Rank Split::outer_of(Rank inner) const {
    const Rank leaders = grouped / base;
    return inner < leaders ? member(inner, base - 1) : inner + leaders * (base - 1);
}

Rank Merge::group_start(Rank group) const {
    return group * (base + remainders / groups) + std::min(group, remainders % groups);
}

Merge::Place Merge::place_of(Rank outer) const {
    if (placement == Placement::paper) {
        if (outer < remainders) return {.remainder = outer};
        return {.inner = outer - remainders};
    }
    // The first `fuller` groups have one remainder more than the others.
    const Rank small = base + remainders / groups;
    const Rank fuller = remainders % groups;
    const Rank split = fuller * (small + 1);
    const Rank group = outer < split ? outer / (small + 1) : fuller + (outer - split) / small;
    const Rank offset = outer - group_start(group);
    const Rank before = attached(group);
    if (offset < before) return {.remainder = offset * groups + group};
    return {.inner = group * base + offset - before};
}

Rank Merge::outer_of(Rank inner) const {
    if (placement == Placement::paper) return inner + remainders;
    const Rank group = inner / base;
    return group_start(group) + attached(group) + inner % base;
}

Rank Merge::outer_of_remainder(Rank remainder) const {
    if (placement == Placement::paper) return remainder;
    return group_start(remainder % groups) + remainder / groups;
}

Rank Levels::rank_of(Rank wid) const {
    for (const auto& level : open_ | std::views::reverse)
        wid = std::visit([wid](const auto& change) { return change.outer_of(wid); }, level);
    return wid;
}

}  // namespace weft::collectives::patterns
