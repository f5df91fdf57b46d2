// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/notify_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::test {

std::string to_text(const EarlyFlag& early) {
    return fmt::format(
        "team {}: cell {} bank {} of rank {}, epoch {}: flag raised before byte {} of rank {}'s "
        "put was delivered",
        early.place.team, early.place.number, early.place.bank, early.target, early.place.epoch,
        early.byte, early.origin);
}

void NotifyWatch::posted(Rank origin, const base::Put& put) {
    // Puts to cells outside the teams' regions, for example mailboxes, are not checked.
    if (!banks_.place_of(put.cell, put.flag)) return;
    Expected expected{.origin = origin,
                      .cell = put.cell,
                      .flag = put.flag,
                      .target = put.target == base::Put::kInCell
                                    ? put.cell + base::kCellPayloadOffset
                                    : put.target,
                      .outside = nullptr,
                      .payload = {}};
    if (put.region != nullptr)
        expected.outside = reinterpret_cast<const std::byte*>(
            static_cast<std::uintptr_t>(put.region->base) + put.target);
    for (const base::PutPart& part : put.parts)
        expected.payload.insert(expected.payload.end(), part.data, part.data + part.bytes);
    expected_[static_cast<std::size_t>(put.peer)].push_back(std::move(expected));
}

void NotifyWatch::check(Rank target) {
    const std::byte* segment = segments_[static_cast<std::size_t>(target)];
    std::erase_if(expected_[static_cast<std::size_t>(target)], [&](const Expected& expected) {
        const auto* cell = reinterpret_cast<const base::Cell*>(segment + expected.cell);
        if (cell->flag.load(std::memory_order_acquire) != expected.flag) return false;
        ++checked_;
        const std::byte* const arrived =
            expected.outside != nullptr ? expected.outside : segment + expected.target;
        const auto [want, have] =
            std::ranges::mismatch(expected.payload, std::span(arrived, expected.payload.size()));
        if (want != expected.payload.end())
            early_.push_back({.origin = expected.origin,
                              .target = target,
                              .place = *banks_.place_of(expected.cell, expected.flag),
                              .byte = static_cast<std::uint64_t>(want - expected.payload.begin())});
        return true;
    });
}

}  // namespace weft::test
