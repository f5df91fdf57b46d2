// SPDX-License-Identifier: BSD-3-Clause
// clock.hpp - the monotonic clock, in nanoseconds.
#pragma once

#include <cstdint>

namespace weft::base {

/// Nanoseconds since some fixed moment of this boot; never goes back, the same for all processes of
/// one machine.
[[nodiscard]] std::uint64_t monotonic_ns() noexcept;

}  // namespace weft::base
