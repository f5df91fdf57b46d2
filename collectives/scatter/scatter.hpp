// SPDX-License-Identifier: BSD-3-Clause
// scatter.hpp - algorithms of scatter: every rank receives its block of the root's vector.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm scatter_binomial();
[[nodiscard]] Algorithm scatter_flat();
[[nodiscard]] Algorithm scatter_multi_object();
[[nodiscard]] Algorithm scatter_mapped();

}  // namespace weft::collectives
