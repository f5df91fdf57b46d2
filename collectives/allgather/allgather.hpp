// SPDX-License-Identifier: BSD-3-Clause
// allgather.hpp - algorithms of allgather: every rank receives the blocks of all ranks.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm allgather_bruck();
[[nodiscard]] Algorithm allgather_direct();
[[nodiscard]] Algorithm allgather_recursive_doubling();
[[nodiscard]] Algorithm allgather_ring();
[[nodiscard]] Algorithm allgather_multi_object_bruck();
[[nodiscard]] Algorithm allgather_multi_object_ring();
[[nodiscard]] Algorithm allgather_mapped();

}  // namespace weft::collectives
