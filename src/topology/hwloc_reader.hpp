// SPDX-License-Identifier: BSD-3-Clause
// hwloc_reader.hpp - reads the model from the machine; only its source file uses hwloc.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "topology/model.hpp"

namespace weft::topology {

/// Returns the cores that this process may use, in the machine's order. A processor without a core
/// in hwloc counts as a core.
[[nodiscard]] base::Result<std::vector<Core>> read_usable_cores();

/// Returns the description of the whole machine.
[[nodiscard]] base::Result<Machine> read_machine();

}  // namespace weft::topology
