// SPDX-License-Identifier: BSD-3-Clause
// The program must wait for a started call: start() is [[nodiscard]].
// Refused: ignoring return(ed)? value of .*start
#include "weft/weft.hpp"

void use(weft::Team& team) {
#ifdef VALID
    team.start(weft::Call::barrier()).wait();
#else
    team.start(weft::Call::barrier());
#endif
}
