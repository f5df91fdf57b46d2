// SPDX-License-Identifier: BSD-3-Clause
// hwloc_reader.hpp - reads the model from the machine; the only place that knows hwloc.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "topology/model.hpp"

namespace weft::topology {

/// The cores that this process may use, in the machine's order. A processor that hwloc knows no
/// core of counts as a core of its own.
[[nodiscard]] base::Result<std::vector<Core>> read_usable_cores();

/// The whole machine.
[[nodiscard]] base::Result<Machine> read_machine();

}  // namespace weft::topology
