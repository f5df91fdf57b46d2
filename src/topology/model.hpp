// SPDX-License-Identifier: BSD-3-Clause
// model.hpp - what is known of a machine, as values.
//
// Next     hwloc_reader.cpp fills them in; decisions from them need no machine.
#pragma once

#include <string>
#include <vector>

namespace weft::topology {

/// One core that may be used: its hardware threads that may be used, by the system's numbers.
struct Core {
    std::vector<int> processors;

    friend bool operator==(const Core&, const Core&) = default;
};

/// What one machine consists of, and what of it this process may use.
struct Machine {
    std::string host;
    std::string processor;  ///< what the system calls it; may be empty
    int packages = 0;
    int numa_nodes = 0;
    int cores = 0;
    int processors = 0;
    std::vector<Core> usable_cores;
    std::string reader_version;  ///< of the library that was asked
};

}  // namespace weft::topology
