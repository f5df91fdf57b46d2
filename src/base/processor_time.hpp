// SPDX-License-Identifier: BSD-3-Clause
// processor_time.hpp - processor time of the calling thread.
//
// Why      On a busy machine work takes longer by the clock, but not in processor time.
#pragma once

#include <time.h>

#include <chrono>

namespace weft::base {

[[nodiscard]] inline std::chrono::nanoseconds processor_time() noexcept {
    timespec used = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace weft::base
