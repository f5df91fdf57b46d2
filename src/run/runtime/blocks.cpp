// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/blocks.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft::run {

base::Result<void> check_blocks(const Blocks& blocks, std::string_view what, Rank size,
                                std::uint64_t element_bytes) {
    const auto ranks = static_cast<std::size_t>(size);
    if (blocks.counts.size() != ranks)
        return base::fail(Status::argument,
                          "{}: {} counts given, expected one for each of {} ranks", what,
                          blocks.counts.size(), size);
    if (!blocks.displacements.empty() && blocks.displacements.size() != ranks)
        return base::fail(Status::argument,
                          "{}: {} displacements given, expected none or one for each of {} ranks",
                          what, blocks.displacements.size(), size);
    const std::uint64_t most =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / element_bytes;
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::uint64_t start = blocks.displacements.empty() ? 0 : blocks.displacements[rank];
        const std::uint64_t count = blocks.counts[rank];
        if (count <= most && start <= most - count && sum <= most - count) {
            sum += count;
            continue;
        }
        return base::fail(Status::argument,
                          "{}: {} elements of {} bytes for rank {}, at {}, overflow 63 bits", what,
                          count, element_bytes, rank, blocks.displacements.empty() ? sum : start);
    }
    return {};
}

std::string to_text(std::span<const std::size_t> counts) {
    constexpr std::size_t kShown = 8;
    if (counts.size() <= kShown) return fmt::format("{}", fmt::join(counts, ","));
    std::uint64_t digest = 0;
    for (const std::size_t count : counts) {
        digest = (digest ^ count) * 0x9e3779b97f4a7c15ULL;
        digest ^= digest >> 32;
    }
    return fmt::format("{},... ({} counts, {} in all, digest {:x})",
                       fmt::join(counts.first(kShown), ","), counts.size(),
                       std::accumulate(counts.begin(), counts.end(), std::size_t{0}), digest);
}

std::vector<std::uint64_t> starts_of(const Blocks& blocks) {
    if (!blocks.displacements.empty())
        return {blocks.displacements.begin(), blocks.displacements.end()};
    std::vector<std::uint64_t> starts;
    starts.reserve(blocks.counts.size());
    std::uint64_t next = 0;
    for (const std::size_t count : blocks.counts) {
        starts.push_back(next);
        next += count;
    }
    return starts;
}

base::Result<Extents> extents_of(const Blocks& blocks, std::string_view what,
                                 std::uint64_t element_bytes, bool may_overlap) {
    const std::vector<std::uint64_t> starts = starts_of(blocks);
    std::vector<std::size_t> order(starts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](std::size_t rank) { return blocks.counts[rank] == 0; });
    std::ranges::stable_sort(order, {}, [&](std::size_t rank) { return starts[rank]; });
    Extents extents;
    std::size_t farthest = 0;  // rank whose block ends last
    for (const std::size_t rank : order) {
        const Extent extent{starts[rank] * element_bytes, blocks.counts[rank] * element_bytes};
        if (extents.empty() || extent.offset > extents.back().end()) {
            extents.push_back(extent);
            farthest = rank;
            continue;
        }
        Extent& last = extents.back();
        if (extent.offset < last.end() && !may_overlap)
            return base::fail(Status::argument,
                              "{}: the blocks of ranks {} and {} overlap: both hold element {}",
                              what, farthest, rank, starts[rank]);
        if (extent.end() > last.end()) farthest = rank;
        last.bytes = std::max(last.end(), extent.end()) - last.offset;
    }
    return extents;
}

bool overlap(const std::byte* a, const Extents& of_a, const std::byte* b, const Extents& of_b) {
    const auto at = [](const std::byte* start, std::uint64_t offset) {
        return reinterpret_cast<std::uintptr_t>(start) + offset;
    };
    for (std::size_t i = 0, j = 0; i < of_a.size() && j < of_b.size();) {
        const bool a_before = at(a, of_a[i].end()) <= at(b, of_b[j].offset);
        const bool b_before = at(b, of_b[j].end()) <= at(a, of_a[i].offset);
        if (!a_before && !b_before) return true;
        if (a_before) ++i;
        if (b_before) ++j;
    }
    return false;
}

}  // namespace weft::run
