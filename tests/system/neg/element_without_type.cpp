// SPDX-License-Identifier: BSD-3-Clause
// A collective needs elements that have a weft type. A pointer is meaningless to another rank.
// Refused: (constraints not satisfied|static assertion failed)
#include "weft/weft.hpp"

#ifdef VALID
using Element = double;
#else
using Element = char*;
#endif

void use(weft::Team& team, std::span<Element> elements) {
    team.broadcast(elements, 0);
}
