// SPDX-License-Identifier: BSD-3-Clause
// core_binding.hpp - which CPUs make up each core that this process may use.
#pragma once

#include <sched.h>

#include <vector>

#include "base/result.hpp"

namespace weft::front {

/// One entry per usable core: its usable hardware threads.
[[nodiscard]] base::Result<std::vector<cpu_set_t>> usable_cores();

}  // namespace weft::front
