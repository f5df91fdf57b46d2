// SPDX-License-Identifier: BSD-3-Clause
// A message needs a value for each of its placeholders.
// Refused: (consteval|argument not found|not a constant expression)
#include "base/result.hpp"

weft::base::Failure use(int rank) {
#ifdef VALID
    return weft::base::fail(weft::Status::argument, "rank {}: no such rank", rank);
#else
    return weft::base::fail(weft::Status::argument, "rank {}: {}", rank);
#endif
}
