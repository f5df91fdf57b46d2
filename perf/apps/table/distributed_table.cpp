// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/table/distributed_table.hpp"

namespace apps {

DistributedTable::DistributedTable(weft::Team team, std::uint64_t slots_per_rank)
    : ranks_(static_cast<std::uint64_t>(team.size())), slots_(team, slots_per_rank) {}

weft::GlobalRef<Slot> DistributedTable::slot_of(std::uint64_t key, std::uint64_t probe) {
    ++probes_;
    const std::uint64_t number = (mix(key) % slots() + probe) % slots();
    const auto rank = static_cast<weft::Rank>(number / slots_.size());
    return slots_.peer(rank)[number % slots_.size()];
}

bool DistributedTable::add(std::uint64_t key) {
    for (std::uint64_t probe = 0; probe < slots(); ++probe) {
        const auto slot = slot_of(key, probe);
        const std::uint64_t found = slot.field(&Slot::key).compare_swap(kNoKey, key);
        if (found != kNoKey && found != key) continue;  // belongs to another key
        slot.field(&Slot::count).fetch_add(1);
        return true;
    }
    return false;
}

std::optional<std::uint64_t> DistributedTable::count_of(std::uint64_t key) {
    for (std::uint64_t probe = 0; probe < slots(); ++probe) {
        const Slot found = slot_of(key, probe);
        if (found.key == key) return found.count;
        if (found.key == kNoKey) return std::nullopt;  // add() would have used this slot
    }
    return std::nullopt;
}

}  // namespace apps
