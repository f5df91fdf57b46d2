// SPDX-License-Identifier: BSD-3-Clause
// hierarchical.hpp - algorithms that are composed of programs of other collectives.
#pragma once

#include "collectives/algorithm.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm barrier_hierarchical();
[[nodiscard]] Algorithm broadcast_hierarchical();
[[nodiscard]] Algorithm reduce_hierarchical();
[[nodiscard]] Algorithm allreduce_hierarchical();
[[nodiscard]] Algorithm gather_hierarchical();
[[nodiscard]] Algorithm scatter_hierarchical();
[[nodiscard]] Algorithm allgather_hierarchical();
[[nodiscard]] Algorithm reduce_scatter_hierarchical();
[[nodiscard]] Algorithm alltoall_hierarchical();
[[nodiscard]] Algorithm scan_hierarchical();
[[nodiscard]] Algorithm exscan_hierarchical();

[[nodiscard]] Algorithm barrier_multi_object();

}  // namespace weft::collectives
