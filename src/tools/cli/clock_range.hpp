// SPDX-License-Identifier: BSD-3-Clause
// clock_range.hpp - checks that a simulation fits the simulator's clock.
#pragma once

#include "base/result.hpp"
#include "plan/schedule/stages.hpp"
#include "plan/simulate/image.hpp"

namespace weft::tools {

/// Checks that the time of `chain` successive messages fits 64 bits of picoseconds.
[[nodiscard]] base::Result<void> check_range(const plan::MessageModel& model,
                                             const plan::VectorSize& size, double chain);

/// Returns an upper bound of the messages that a rank handles, plus those it waits for
/// others to handle.
[[nodiscard]] double chain_of(const plan::Stages& stages);

}  // namespace weft::tools
