// SPDX-License-Identifier: BSD-3-Clause
// model.hpp - what is known of a machine, as values.
//
// Next     hwloc_reader.cpp fills them in; whoever decides from them needs no machine.
#pragma once

#include <vector>

namespace weft::topology {

/// One core that may be used: its hardware threads that may be used, by the system's numbers.
struct Core {
    std::vector<int> processors;

    friend bool operator==(const Core&, const Core&) = default;
};

}  // namespace weft::topology
