// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/table/distributed_table.hpp"

#include <algorithm>

namespace apps {

DistributedTable::DistributedTable(weft::Team team, std::uint64_t slots_per_rank)
    : team_(team),
      ranks_(static_cast<std::uint64_t>(team.size())),
      memory_(team, slots_per_rank * sizeof(Slot)),
      slots_(memory_.as<Slot>()) {
    std::ranges::fill(slots_, Slot{kNoKey, 0});
    team_.barrier();  // no rank adds before all slots are free
}

DistributedTable::SlotAddress DistributedTable::address_of(std::uint64_t key, std::uint64_t probe) {
    ++probes_;
    const std::uint64_t number = (mix(key) % slots() + probe) % slots();
    return {&slots_[number % slots_.size()], static_cast<weft::Rank>(number / slots_.size())};
}

bool DistributedTable::add(std::uint64_t key) {
    for (std::uint64_t probe = 0; probe < slots(); ++probe) {
        const auto [slot, rank] = address_of(key, probe);
        const std::uint64_t found = team_.compare_swap(&slot->key, kNoKey, key, rank);
        if (found != kNoKey && found != key) continue;  // belongs to another key
        team_.fetch_add(&slot->count, 1, rank);
        return true;
    }
    return false;
}

std::optional<std::uint64_t> DistributedTable::count_of(std::uint64_t key) {
    for (std::uint64_t probe = 0; probe < slots(); ++probe) {
        const auto [slot, rank] = address_of(key, probe);
        Slot found{};
        team_.get(&found, slot, sizeof found, rank);
        if (found.key == key) return found.count;
        if (found.key == kNoKey) return std::nullopt;  // add() would have used this slot
    }
    return std::nullopt;
}

std::vector<Slot> DistributedTable::slots_of(weft::Rank rank) {
    std::vector<Slot> copies(slots_.size());
    team_.get(std::span(copies), slots_, rank);
    return copies;
}

}  // namespace apps
