// SPDX-License-Identifier: BSD-3-Clause
// hwloc_reader.hpp - reads the processors of this machine. Only its source file includes hwloc.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::topology {

/// The kernel's numbers of hardware threads.
using Processors = std::vector<int>;

/// A machine, and the cores that this process may use. 0 and empty: hwloc does not report it.
struct MachineModel {
    std::string host;
    std::string processor;  ///< name of the processor's model
    int packages = 0;       ///< number of processor packages (sockets)
    int numa_nodes = 0;
    int cores = 0;
    int processors = 0;  ///< number of hardware threads
    /// The usable hardware threads of each core that has one, in hwloc's order. A hardware thread
    /// for which hwloc reports no core counts as a core.
    std::vector<Processors> usable_cores;
    std::string reader_version;  ///< version of the hwloc library
};

/// Position of a device on the PCI bus.
struct PciAddress {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned function = 0;
};

/// Returns the distances of devices from sets of processors, by set and device: the number of
/// levels (group, package, machine) above the part of the machine that has the device, up to the
/// first part that has one of the processors. -1: hwloc does not know the device.
base::Result<std::vector<std::vector<int>>> device_distances(
    std::span<const PciAddress> devices, std::span<const Processors> processors);

base::Result<MachineModel> read_machine();

}  // namespace weft::topology
