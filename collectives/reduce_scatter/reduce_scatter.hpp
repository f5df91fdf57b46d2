// SPDX-License-Identifier: BSD-3-Clause
// reduce_scatter.hpp - algorithms of reduce_scatter: every rank receives its block
// of the reduction.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm reduce_scatter_pairwise();
[[nodiscard]] Algorithm reduce_scatter_recursive_halving();
[[nodiscard]] Algorithm reduce_scatter_ring();
[[nodiscard]] Algorithm reduce_scatter_mapped();

}  // namespace weft::collectives
