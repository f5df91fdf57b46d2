// SPDX-License-Identifier: BSD-3-Clause
// iput() must not accept a temporary: the put may read its source after the call has returned.
// Refused: constraints not satisfied|LastingBufferOf
#include <vector>

#include "weft/weft.hpp"

void use(weft::Team& team, double* dst) {
    std::vector<double> values(8);
#ifdef VALID
    team.iput(dst, values, 0).get();
#else
    team.iput(dst, std::vector<double>(8), 0).get();
#endif
}
