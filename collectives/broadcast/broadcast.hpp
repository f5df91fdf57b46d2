// SPDX-License-Identifier: BSD-3-Clause
// broadcast.hpp - the entries of the registry: every rank's output becomes the root's input.
#pragma once

#include "collectives/algorithm.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::collectives {

[[nodiscard]] const plan::Contract& broadcast_contract();

[[nodiscard]] Algorithm broadcast_binomial();
[[nodiscard]] Algorithm broadcast_flat();

}  // namespace weft::collectives
