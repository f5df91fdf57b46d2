// SPDX-License-Identifier: BSD-3-Clause
// The program must not ignore a failure: Result is [[nodiscard]].
// Refused: ignoring returned value of type 'weft::base::Result
#include "base/result.hpp"

weft::base::Result<int> open_something();

void use() {
#ifdef VALID
    if (!open_something().ok()) return;
#else
    open_something();
#endif
}
