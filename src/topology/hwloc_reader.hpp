// SPDX-License-Identifier: BSD-3-Clause
// hwloc_reader.hpp - description of this machine, as values; only its source file uses hwloc.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::topology {

/// One usable core: its usable hardware threads, by the system's numbers.
struct Core {
    std::vector<int> processors;

    friend bool operator==(const Core&, const Core&) = default;
};

/// Description of a machine, and the cores that this process may use.
struct MachineModel {
    std::string host;
    std::string processor;  ///< name from the system; may be empty
    int packages = 0;
    int numa_nodes = 0;
    int cores = 0;
    int processors = 0;
    std::vector<Core> usable_cores;
    std::string reader_version;  ///< version of the hwloc library
};

/// Returns the cores that this process may use, in the machine's order. A processor without a core
/// in hwloc counts as a core.
[[nodiscard]] base::Result<std::vector<Core>> read_usable_cores();

/// Returns the description of the whole machine.
[[nodiscard]] base::Result<MachineModel> read_machine();

}  // namespace weft::topology
