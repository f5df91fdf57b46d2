// SPDX-License-Identifier: BSD-3-Clause
// core_binding.hpp - CPUs of each core that this process may use.
#pragma once

#include <sched.h>

#include <vector>

#include "base/result.hpp"

namespace weft::tools {

/// Returns one entry for each usable core: its usable hardware threads.
[[nodiscard]] base::Result<std::vector<cpu_set_t>> usable_cores();

}  // namespace weft::tools
