// SPDX-License-Identifier: BSD-3-Clause
// counts.hpp - compares the slots of a table with a map that one process has filled.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "perf/apps/table/distributed_table.hpp"

namespace apps {

using Counts = std::unordered_map<std::uint64_t, std::uint64_t>;

struct CountFaults {
    std::uint64_t missing = 0;     ///< keys without a slot
    std::uint64_t unexpected = 0;  ///< slots with a key that no rank added
    std::uint64_t repeated = 0;    ///< slots with a key that has another slot, too
    std::uint64_t wrong = 0;       ///< slots with a wrong count; free slots with a count

    [[nodiscard]] std::uint64_t all() const { return missing + unexpected + repeated + wrong; }
};

/// Compares the slots of all ranks with the expected counts.
[[nodiscard]] inline CountFaults compare_counts(std::span<const Slot> slots,
                                                const Counts& expected) {
    CountFaults faults;
    std::unordered_set<std::uint64_t> seen;
    for (const Slot& slot : slots) {
        if (slot.key == kNoKey) {
            faults.wrong += slot.count != 0;
            continue;
        }
        const auto found = expected.find(slot.key);
        if (found == expected.end()) {
            ++faults.unexpected;
        } else if (!seen.insert(slot.key).second) {
            ++faults.repeated;
        } else {
            faults.wrong += slot.count != found->second;
        }
    }
    faults.missing = expected.size() - seen.size();
    return faults;
}

}  // namespace apps
