// SPDX-License-Identifier: BSD-3-Clause
// clock.hpp - the monotonic clock, in nanoseconds, and deadlines.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft::base {

/// Returns the nanoseconds since a fixed moment of this boot. The clock never goes back, and all
/// processes of a machine share it.
[[nodiscard]] std::uint64_t monotonic_ns() noexcept;

/// Returns the processor time of the calling thread. On a busy machine, work takes longer by the
/// clock, but not in processor time.
[[nodiscard]] std::chrono::nanoseconds processor_time() noexcept;

/// End of a wait; never by default.
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
