// SPDX-License-Identifier: BSD-3-Clause
#include "topology/hwloc_reader.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

namespace weft::topology {
namespace {

/// Deleter that calls a function of hwloc.
template <auto Function>
struct DestroyWith {
    void operator()(auto* handle) const noexcept { Function(handle); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyWith<hwloc_topology_destroy>>;
using CpuSet = std::unique_ptr<hwloc_bitmap_s, DestroyWith<hwloc_bitmap_free>>;

base::Failure refused(const char* call) {
    return base::fail(Status::environment, "{} failed: {}", call, std::strerror(errno));
}

/// Reads the topology of this machine, with or without PCI devices.
base::Result<Topology> load(bool with_devices = false) {
    hwloc_topology_t handle = nullptr;
    if (hwloc_topology_init(&handle) != 0) return refused("hwloc_topology_init");
    Topology topology(handle);
    if (with_devices)
        hwloc_topology_set_type_filter(handle, HWLOC_OBJ_PCI_DEVICE,
                                       HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(handle) != 0) return refused("hwloc_topology_load");
    return topology;
}

base::Result<std::vector<Processors>> usable_cores(hwloc_topology_t handle) {
    const CpuSet usable(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(handle, usable.get(), HWLOC_CPUBIND_PROCESS) != 0)
        return refused("hwloc_get_cpubind");

    std::vector<Processors> cores;
    std::map<hwloc_obj_t, std::size_t> core_of;
    hwloc_obj_t processor = nullptr;
    while ((processor = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_PU, processor)) != nullptr) {
        if (hwloc_bitmap_isset(usable.get(), processor->os_index) == 0) continue;
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(handle, HWLOC_OBJ_CORE, processor);
        const auto known = core_of.try_emplace(core == nullptr ? processor : core, cores.size());
        if (known.second) cores.emplace_back();
        cores[known.first->second].push_back(static_cast<int>(processor->os_index));
    }
    return cores;
}

/// Returns the number of levels from a part of the machine up to one that has a processor of a set.
int levels_between(hwloc_obj_t part, const Processors& processors) {
    int levels = 0;
    const auto has_one = [&] {
        return std::ranges::any_of(processors, [&](int processor) {
            return hwloc_bitmap_isset(part->cpuset, static_cast<unsigned>(processor)) != 0;
        });
    };
    for (; part->parent != nullptr && !has_one(); part = part->parent) ++levels;
    return levels;
}

std::string info_of(hwloc_obj_t object, const char* name) {
    const char* const text = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, name);
    return text == nullptr ? std::string() : text;
}

}  // namespace

base::Result<std::vector<std::vector<int>>> device_distances(
    std::span<const PciAddress> devices, std::span<const Processors> processors) {
    const Topology topology = WEFT_TRY(load(/*with_devices=*/true));
    std::vector<std::vector<int>> distances(processors.size());
    for (const PciAddress& address : devices) {
        hwloc_obj_t device = hwloc_get_pcidev_by_busid(topology.get(), address.domain, address.bus,
                                                       address.device, address.function);
        for (std::size_t set = 0; set < processors.size(); ++set)
            distances[set].push_back(
                device == nullptr
                    ? -1
                    : levels_between(hwloc_get_non_io_ancestor_obj(topology.get(), device),
                                     processors[set]));
    }
    return distances;
}

base::Result<MachineModel> read_machine() {
    const auto topology = WEFT_TRY(load());
    hwloc_topology_t handle = topology.get();
    auto usable = WEFT_TRY(usable_cores(handle));
    // hwloc returns -1 for a type on several levels. 0: unknown.
    const auto count = [&](hwloc_obj_type_t type) {
        return std::max(0, hwloc_get_nbobjs_by_type(handle, type));
    };
    hwloc_obj_t root = hwloc_get_root_obj(handle);
    return MachineModel{
        .host = info_of(root, "HostName"),
        .processor = info_of(hwloc_get_obj_by_type(handle, HWLOC_OBJ_PACKAGE, 0), "CPUModel"),
        .packages = count(HWLOC_OBJ_PACKAGE),
        .numa_nodes = count(HWLOC_OBJ_NUMANODE),
        .cores = count(HWLOC_OBJ_CORE),
        .processors = count(HWLOC_OBJ_PU),
        .usable_cores = std::move(usable),
        .reader_version = info_of(root, "hwlocVersion")};
}

}  // namespace weft::topology
