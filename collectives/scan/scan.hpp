// SPDX-License-Identifier: BSD-3-Clause
// scan.hpp - algorithms of scan: rank r receives the reduction over ranks 0..r.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] Algorithm scan_linear();
[[nodiscard]] Algorithm scan_recursive_doubling();
[[nodiscard]] Algorithm scan_mapped();
[[nodiscard]] Algorithm scan_mapped_linear();

}  // namespace weft::collectives
