// SPDX-License-Identifier: BSD-3-Clause
// A started call that is never waited for: start() is [[nodiscard]].
// Refused: ignoring return(ed)? value of .*start
#include "weft/weft.hpp"

void use(weft::Team& team) {
#ifdef VALID
    team.start(weft::Call::barrier()).wait();
#else
    team.start(weft::Call::barrier());
#endif
}
