// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations need integers of 4 or 8 bytes, float or double.
// Refused: constraints not satisfied
#include "weft/weft.hpp"

#ifdef VALID
using Counter = std::int64_t;
#else
using Counter = std::int16_t;
#endif

void use(weft::Team& team, Counter* counter) {
    team.fetch_add(counter, 1, 0);
}
