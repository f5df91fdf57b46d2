// SPDX-License-Identifier: BSD-3-Clause
// A result of weft::Rpc must fit into a message.
// Refused: the result is larger than a message
#include <array>

#include "weft/rpc.hpp"

#ifdef VALID
using Text = std::array<char, 2032>;
#else
using Text = std::array<char, 2033>;
#endif

Text text_of(int) {
    return {};
}

char use(weft::Rpc& rpc) {
    return rpc.call<text_of>(0, 1).get()[0];
}
