// SPDX-License-Identifier: BSD-3-Clause
// virtual_clock.hpp - counted time: each read of the clock advances it by 0.1 ms.
//
// Idea     virtual_clock.cpp defines base::monotonic_ns() for the program weft_farm, instead of
//          base/clock.cpp. So the seed also determines the watchdog's actions.
#pragma once

namespace weft::farm {

/// Sets the clock to its first value.
void reset_clock();

}  // namespace weft::farm
