// SPDX-License-Identifier: BSD-3-Clause
// alltoall.hpp - the entries of the registry: every rank sends a block to each.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm alltoall_bruck();
[[nodiscard]] Algorithm alltoall_direct();
[[nodiscard]] Algorithm alltoall_mapped();

}  // namespace weft::collectives
