// SPDX-License-Identifier: BSD-3-Clause
// alltoall.hpp - algorithms of alltoall: every rank sends a block to every rank.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm alltoall_bruck();
[[nodiscard]] Algorithm alltoall_direct();
[[nodiscard]] Algorithm alltoall_mapped();

}  // namespace weft::collectives
