// SPDX-License-Identifier: BSD-3-Clause
// clock_range.hpp - whether a simulation fits the simulator's clock.
#pragma once

#include "base/result.hpp"
#include "plan/schedule/stages.hpp"
#include "plan/simulate/image.hpp"

namespace weft::front {

/// Whether `chain` messages one after the other still are a 64-bit number of picoseconds.
[[nodiscard]] base::Result<void> check_range(const plan::MessageModel& model,
                                             const plan::VectorSize& size, double chain);

/// At least as many messages as any rank handles, plus as many as it waits for others to handle.
[[nodiscard]] double chain_of(const plan::Stages& stages);

}  // namespace weft::front
