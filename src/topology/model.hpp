// SPDX-License-Identifier: BSD-3-Clause
// model.hpp - description of a machine, as values.
//
// Next     hwloc_reader.cpp fills them in; decisions from them need no machine.
#pragma once

#include <string>
#include <vector>

namespace weft::topology {

/// One usable core: its usable hardware threads, by the system's numbers.
struct Core {
    std::vector<int> processors;

    friend bool operator==(const Core&, const Core&) = default;
};

/// Description of a machine, and the cores that this process may use.
struct Machine {
    std::string host;
    std::string processor;  ///< name from the system; may be empty
    int packages = 0;
    int numa_nodes = 0;
    int cores = 0;
    int processors = 0;
    std::vector<Core> usable_cores;
    std::string reader_version;  ///< version of the hwloc library
};

}  // namespace weft::topology
