// SPDX-License-Identifier: BSD-3-Clause
// clock.hpp - the monotonic clock, in nanoseconds, and moments up to which a wait may last.
#pragma once

#include <cstdint>

namespace weft::base {

/// Nanoseconds since some fixed moment of this boot; never goes back, the same for all processes of
/// one machine.
[[nodiscard]] std::uint64_t monotonic_ns() noexcept;

/// A moment up to which something may last; by default it has no end.
struct Deadline {
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};
    std::uint64_t at_ns = kNever;

    [[nodiscard]] static Deadline after(std::uint64_t ns) noexcept {
        const std::uint64_t now = monotonic_ns();
        return {ns < kNever - now ? now + ns : kNever};
    }
    [[nodiscard]] bool passed() const noexcept {
        return at_ns != kNever && monotonic_ns() >= at_ns;
    }
};

}  // namespace weft::base
