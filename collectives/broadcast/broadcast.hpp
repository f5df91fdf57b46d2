// SPDX-License-Identifier: BSD-3-Clause
// broadcast.hpp - algorithms of broadcast: every rank receives the root's vector.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm broadcast_binomial();
[[nodiscard]] Algorithm broadcast_chain();
[[nodiscard]] Algorithm broadcast_double_tree();
[[nodiscard]] Algorithm broadcast_flat();
[[nodiscard]] Algorithm broadcast_kary();
[[nodiscard]] Algorithm broadcast_knomial();
[[nodiscard]] Algorithm broadcast_logp_optimal();
[[nodiscard]] Algorithm broadcast_pipelined_binary();
[[nodiscard]] Algorithm broadcast_scatter_allgather();
[[nodiscard]] Algorithm broadcast_split_binary();
[[nodiscard]] Algorithm broadcast_mapped();

}  // namespace weft::collectives
