// SPDX-License-Identifier: BSD-3-Clause
// A put in flight may read its source after the call has returned: a temporary is then gone.
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
