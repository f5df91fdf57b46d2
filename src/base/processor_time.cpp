// SPDX-License-Identifier: BSD-3-Clause
// processor_time.cpp - apart from clock.cpp, because the farm of the tests replaces clock.cpp.
#include <time.h>

#include "base/clock.hpp"

namespace weft::base {

std::chrono::nanoseconds processor_time() noexcept {
    timespec used = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace weft::base
