// SPDX-License-Identifier: BSD-3-Clause
// A result needs writable memory.
// Refused: invalid conversion from 'const void\*' to 'void\*'
#include "weft/weft.hpp"

void use(weft::Team& team, std::span<const double> values, std::span<double> results) {
#ifdef VALID
    team.allreduce(values, results, weft::Op::sum);
#else
    team.allreduce(values, weft::Op::sum);
#endif
}
