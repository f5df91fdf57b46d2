// SPDX-License-Identifier: BSD-3-Clause
// allreduce.hpp - algorithms of allreduce: every rank receives the reduction of all vectors.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm allreduce_binary_blocks();
[[nodiscard]] Algorithm allreduce_double_tree();
[[nodiscard]] Algorithm allreduce_elimination();
[[nodiscard]] Algorithm allreduce_generalized();
[[nodiscard]] Algorithm allreduce_halving_doubling();
[[nodiscard]] Algorithm allreduce_multiplying();
[[nodiscard]] Algorithm allreduce_recursive_doubling();
[[nodiscard]] Algorithm allreduce_butterfly();
[[nodiscard]] Algorithm allreduce_reduce_broadcast();
[[nodiscard]] Algorithm allreduce_ring();

[[nodiscard]] Algorithm allreduce_multi_object_small();
[[nodiscard]] Algorithm allreduce_multi_object_large();
[[nodiscard]] Algorithm allreduce_mapped();

}  // namespace weft::collectives
