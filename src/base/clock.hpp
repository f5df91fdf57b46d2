// SPDX-License-Identifier: BSD-3-Clause
// clock.hpp - monotonic clock, CPU time, and deadlines.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace weft::base {

/// Returns nanoseconds since the boot of the machine, without suspended time. The clock never goes
/// back, and is equal for all processes of a machine.
[[nodiscard]] std::uint64_t monotonic_ns() noexcept;

/// Returns the CPU time of the calling thread: not the time while it is blocked or preempted.
[[nodiscard]] inline std::chrono::nanoseconds thread_cpu_time() noexcept {
    timespec used = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Time at which a wait ends; by default never.
struct Deadline {
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};
    std::uint64_t at_ns = kNever;  ///< value of monotonic_ns()

    [[nodiscard]] static Deadline after(std::uint64_t ns) noexcept {
        const std::uint64_t now = monotonic_ns();
        return {ns < kNever - now ? now + ns : kNever};
    }
    [[nodiscard]] bool passed() const noexcept {
        return at_ns != kNever && monotonic_ns() >= at_ns;
    }
};

}  // namespace weft::base
