// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/virtual_clock.hpp"

#include "base/clock.hpp"

namespace weft {

namespace {

constexpr std::uint64_t kLook_ns = 100'000;
std::uint64_t now_ns = kLook_ns;

}  // namespace

namespace base {

std::uint64_t monotonic_ns() noexcept {
    return now_ns += kLook_ns;
}

}  // namespace base

namespace farm {

void reset_clock() {
    now_ns = kLook_ns;
}

}  // namespace farm

}  // namespace weft
