// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/core_binding.hpp"

#include "topology/hwloc_reader.hpp"

namespace weft::tools {

base::Result<std::vector<cpu_set_t>> usable_cores() {
    const auto cores = topology::read_usable_cores();
    if (!cores) return cores.failure().within("--bind core");
    std::vector<cpu_set_t> sets;
    for (const topology::Core& core : *cores) {
        cpu_set_t& set = sets.emplace_back();
        CPU_ZERO(&set);
        for (const int processor : core.processors) CPU_SET(processor, &set);
    }
    return sets;
}

}  // namespace weft::tools
