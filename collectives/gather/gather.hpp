// SPDX-License-Identifier: BSD-3-Clause
// gather.hpp - algorithms of gather: the root receives the blocks of all ranks.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm gather_binomial();
[[nodiscard]] Algorithm gather_flat();
[[nodiscard]] Algorithm gather_multi_object();
[[nodiscard]] Algorithm gather_mapped();

}  // namespace weft::collectives
