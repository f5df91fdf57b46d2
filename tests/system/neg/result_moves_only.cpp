// SPDX-License-Identifier: BSD-3-Clause
// Copies of a future share its result, so then() refuses functions whose results cannot be copied.
// Refused: FutureResult
#include <memory>

#include "weft/request.hpp"

#ifdef VALID
using Result = std::shared_ptr<int>;
#else
using Result = std::unique_ptr<int>;
#endif

int use(weft::Future<void> future) {
    return *future.then([] { return Result(new int(3)); }).get();
}
