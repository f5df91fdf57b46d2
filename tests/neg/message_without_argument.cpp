// SPDX-License-Identifier: BSD-3-Clause
// A message names as many values as it is given.
// Refused: (consteval|argument not found|not a constant expression)
#include "base/result.hpp"

weft::base::Failure use(int rank) {
#ifdef VALID
    return weft::base::fail(weft::Status::argument, "rank {}: no such rank", rank);
#else
    return weft::base::fail(weft::Status::argument, "rank {}: {}", rank);
#endif
}
