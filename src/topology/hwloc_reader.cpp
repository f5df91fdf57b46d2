// SPDX-License-Identifier: BSD-3-Clause
#include "topology/hwloc_reader.hpp"

#include <hwloc.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

namespace weft::topology {

namespace {

template <auto Function>
struct Calls {
    void operator()(auto* handle) const noexcept { Function(handle); }
};
using Topology = std::unique_ptr<hwloc_topology, Calls<hwloc_topology_destroy>>;
using CpuSet = std::unique_ptr<hwloc_bitmap_s, Calls<hwloc_bitmap_free>>;

base::Failure refused(const char* call) {
    return base::fail(Status::environment, "{} failed: {}", call, std::strerror(errno));
}

}  // namespace

base::Result<std::vector<Core>> read_usable_cores() {
    hwloc_topology_t handle = nullptr;
    if (hwloc_topology_init(&handle) != 0) return refused("hwloc_topology_init");
    const Topology topology(handle);
    if (hwloc_topology_load(handle) != 0) return refused("hwloc_topology_load");
    const CpuSet usable(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(handle, usable.get(), HWLOC_CPUBIND_PROCESS) != 0)
        return refused("hwloc_get_cpubind");

    std::vector<Core> cores;
    std::map<hwloc_obj_t, std::size_t> core_of;
    hwloc_obj_t processor = nullptr;
    while ((processor = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_PU, processor)) != nullptr) {
        if (hwloc_bitmap_isset(usable.get(), processor->os_index) == 0) continue;
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(handle, HWLOC_OBJ_CORE, processor);
        const auto known = core_of.try_emplace(core == nullptr ? processor : core, cores.size());
        if (known.second) cores.emplace_back();
        cores[known.first->second].processors.push_back(static_cast<int>(processor->os_index));
    }
    return cores;
}

}  // namespace weft::topology
