// SPDX-License-Identifier: BSD-3-Clause
#include "link/wire/waiter.hpp"

#include <sched.h>

#include <ctime>

#include "base/clock.hpp"

namespace weft::link {

namespace {

constexpr long kSleepNs = 50'000;

void pause_briefly() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

void Waiter::relax(unsigned failures) noexcept {
    if (still_ < kYields) ++still_;
    if (spin_ && spin_limit_.allows(std::min(failures, still_))) {
        pause_briefly();
        return;
    }
    if (sleeps_after(failures)) {
        const timespec sleep{0, kSleepNs};
        nanosleep(&sleep, nullptr);
        return;
    }
    const std::uint64_t begun_ns = spin_ ? base::monotonic_ns() : 0;
    sched_yield();
    if (spin_) spin_limit_.yielded(base::monotonic_ns() - begun_ns);
}

}  // namespace weft::link
