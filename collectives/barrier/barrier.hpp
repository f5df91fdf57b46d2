// SPDX-License-Identifier: BSD-3-Clause
// barrier.hpp - algorithms of barrier: no rank leaves before all ranks have entered.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm barrier_dissemination();
[[nodiscard]] Algorithm barrier_tree();
[[nodiscard]] Algorithm barrier_central();
[[nodiscard]] Algorithm barrier_multiplying();

}  // namespace weft::collectives
