// SPDX-License-Identifier: BSD-3-Clause
// reduce.hpp - algorithms of reduce: the root receives the reduction of all vectors.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm reduce_binary_blocks();
[[nodiscard]] Algorithm reduce_binomial();
[[nodiscard]] Algorithm reduce_chain();
[[nodiscard]] Algorithm reduce_double_tree();
[[nodiscard]] Algorithm reduce_flat();
[[nodiscard]] Algorithm reduce_halving_doubling();
[[nodiscard]] Algorithm reduce_kary();
[[nodiscard]] Algorithm reduce_knomial();
[[nodiscard]] Algorithm reduce_logp_optimal();
[[nodiscard]] Algorithm reduce_pipelined_binary();
[[nodiscard]] Algorithm reduce_ring();
[[nodiscard]] Algorithm reduce_split_binary();
[[nodiscard]] Algorithm reduce_mapped();

}  // namespace weft::collectives
