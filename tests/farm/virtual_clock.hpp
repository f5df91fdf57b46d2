// SPDX-License-Identifier: BSD-3-Clause
// virtual_clock.hpp - time that is counted: each look at the clock takes a tenth of a millisecond.
//
// Idea     base::monotonic_ns() is defined in virtual_clock.cpp in place of the system's, for the
//          farm's program alone: what the watchdog does by time follows from the seed, too.
#pragma once

namespace weft::farm {

void reset_clock();

}  // namespace weft::farm
