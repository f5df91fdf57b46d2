// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/virtual_clock.hpp"

#include "base/clock.hpp"

namespace weft {

namespace {

constexpr std::uint64_t kReadNs = 100'000;  ///< time between two reads
std::uint64_t now_ns = kReadNs;

}  // namespace

namespace base {

std::uint64_t monotonic_ns() noexcept {
    return now_ns += kReadNs;
}

}  // namespace base

namespace farm {

void reset_clock() {
    now_ns = kReadNs;
}

}  // namespace farm

}  // namespace weft
