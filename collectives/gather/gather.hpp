// SPDX-License-Identifier: BSD-3-Clause
// gather.hpp - the entries of the registry: the root gets the blocks of all.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm gather_binomial();
[[nodiscard]] Algorithm gather_flat();
[[nodiscard]] Algorithm gather_multi_object();
[[nodiscard]] Algorithm gather_mapped();

}  // namespace weft::collectives
