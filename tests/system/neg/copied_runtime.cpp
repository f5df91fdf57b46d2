// SPDX-License-Identifier: BSD-3-Clause
// A runtime has a single owner.
// Refused: use of deleted function 'weft::Runtime::Runtime\(const weft::Runtime&\)
#include "weft/weft.hpp"

weft::Runtime use(weft::Runtime& runtime) {
#ifdef VALID
    return std::move(runtime);
#else
    return runtime;
#endif
}
