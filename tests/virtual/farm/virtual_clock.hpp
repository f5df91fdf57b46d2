// SPDX-License-Identifier: BSD-3-Clause
// virtual_clock.hpp - counted time: each read of the clock advances it by 0.1 ms.
//
// Idea     virtual_clock.cpp replaces base::monotonic_ns() in weft_farm only. So the seed also
//          determines the actions of the watchdog that depend on time.
#pragma once

namespace weft::farm {

void reset_clock();

}  // namespace weft::farm
