// SPDX-License-Identifier: BSD-3-Clause
// processor_time.cpp - a separate file, because tests with a virtual clock replace clock.cpp.
#include <time.h>

#include "base/clock.hpp"

namespace weft::base {

std::chrono::nanoseconds thread_cpu_time() noexcept {
    timespec used = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace weft::base
