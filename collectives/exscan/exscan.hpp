// SPDX-License-Identifier: BSD-3-Clause
// exscan.hpp - algorithms of exscan: rank r receives the reduction over the ranks before it.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm exscan_linear();
[[nodiscard]] Algorithm exscan_recursive_doubling();
[[nodiscard]] Algorithm exscan_mapped();

}  // namespace weft::collectives
