// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/placement.hpp"

#include <algorithm>

namespace weft::run {

std::optional<int> place_of(std::span<const cpu_set_t> allowed, std::size_t index) {
    const cpu_set_t& all = allowed[index];
    const auto processors = static_cast<std::size_t>(CPU_COUNT(&all));
    if (allowed.size() > processors) index = index * processors / allowed.size();
    if (!std::ranges::all_of(allowed,
                             [&](const cpu_set_t& each) { return CPU_EQUAL(&each, &all); }))
        return std::nullopt;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &all)) continue;
        if (index-- == 0) return processor;
    }
    return std::nullopt;
}

void move_to(int processor) noexcept {
    cpu_set_t before;
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(processor, &there);
    if (sched_getaffinity(0, sizeof before, &before) != 0) return;
    if (sched_setaffinity(0, sizeof there, &there) != 0) return;
    static_cast<void>(sched_setaffinity(0, sizeof before, &before));
}

}  // namespace weft::run
