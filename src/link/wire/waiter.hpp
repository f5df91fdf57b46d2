// SPDX-License-Identifier: BSD-3-Clause
// waiter.hpp - pauses between failed polls: a rank spins, yields its processor, or sleeps.
//
// Idea     If each rank has a processor, pausing is the fastest method to wait, unless the
//          scheduler runs the peer on the same processor. Then the peer runs only after a yield. If
//          a wait ends at the first poll after a yield, the two ranks probably share a processor,
//          so the limit of pauses is halved for later waits. Every kTrialEvery waits, a wait may
//          pause up to the full limit. If this wait ends while pausing, the full limit is restored.
//          A yield that takes a whole time slice means that another program got the processor while
//          the peer waited. So the next kOversubscribedWaits waits pause longer. Long waits sleep,
//          unless peers send requests to this rank meanwhile.
// Why      With busy loops of other programs on the processors, waits that yield early make ranks
//          several times slower.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/clock.hpp"

namespace weft::link {

/// Limit of pauses: after this number of failed polls in a row, a rank yields its processor.
class SpinLimit {
  public:
    static constexpr unsigned kTrialEvery = 256;  ///< waits from one trial to the next
    /// After a yield to another program, this number of waits pause longer, by this factor.
    static constexpr unsigned kOversubscribedWaits = 256;
    static constexpr unsigned kOversubscribedFactor = 8;
    /// During a yield of this time or longer, another program ran.
    static constexpr std::uint64_t kForeignYieldNs = 500'000;

    explicit SpinLimit(unsigned full) : full_(full), usual_(full), limit_(full) {}

    /// Returns true if a rank should pause, not yield, after `failures` failed polls in a row.
    [[nodiscard]] bool allows(unsigned failures) noexcept {
        if (failures <= last_) begin_wait();
        last_ = failures;
        return failures < limit_;
    }
    /// Records a yield that took `ns` nanoseconds.
    void yielded(std::uint64_t ns) noexcept {
        if (ns < kForeignYieldNs) return;
        oversubscribed_ = kOversubscribedWaits;
        usual_ = full_;
    }
    /// Returns the limit of waits that are neither trials nor lengthened by other programs.
    [[nodiscard]] unsigned usual() const noexcept { return usual_; }

  private:
    /// Sets the limit of a new wait. The previous wait ended after `last_` failures.
    void begin_wait() noexcept {
        if (oversubscribed_ != 0) {
            --oversubscribed_;
            limit_ = full_ * kOversubscribedFactor;
            return;
        }
        if (last_ == limit_) {
            usual_ = std::max(usual_ / 2, 1U);
        } else if (last_ >= usual_ && last_ < limit_) {
            usual_ = full_;
        }
        limit_ = ++waits_ % kTrialEvery == 0 ? full_ : usual_;
    }

    unsigned full_;
    unsigned usual_;     ///< see usual()
    unsigned limit_;     ///< limit of the current wait
    unsigned last_ = 0;  ///< `failures` at the last call of allows()
    unsigned waits_ = 0;
    unsigned oversubscribed_ = 0;  ///< number of next waits that pause longer
};

class Waiter {
  public:
    /// `spin`: waits may pause. `polls_network`: each poll also polls a network and takes longer,
    /// so waits pause fewer times. `limited_time`: see WireOptions.
    Waiter(bool spin, bool polls_network, bool limited_time)
        : spin_(spin),
          yields_(limited_time ? kYieldsOfQuota : kYields),
          spin_limit_(polls_network ? kSpinsPolling : kSpins) {}

    /// Pauses, yields, or in long waits sleeps briefly, after `failures` failed polls in a row.
    [[gnu::noinline]] void relax(unsigned failures) noexcept {
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
    /// Returns true if relax() would sleep after `failures` failed polls in a row.
    [[nodiscard]] bool sleeps_after(unsigned failures) const noexcept {
        return may_sleep_ && failures >= yields_ && still_ >= yields_;
    }
    /// Permits or forbids sleep in long waits. Forbid it if waits also drive another library.
    void allow_sleep(bool may) noexcept { may_sleep_ = may; }
    /// Records an arrival from a peer, a served request, or a completion.
    void note_activity() noexcept {
        ++activity_count_;
        still_ = 0;
    }
    /// Returns the number of note_activity() calls.
    [[nodiscard]] std::uint64_t activity_count() const noexcept { return activity_count_; }

  private:
    static constexpr unsigned kSpins = 4096;         ///< full limit of pauses, about 100 us
    static constexpr unsigned kSpinsPolling = 128;   ///< full limit if polls poll a network, too
    static constexpr unsigned kYields = 200'000;     ///< failed polls before a wait sleeps
    static constexpr unsigned kYieldsOfQuota = 200;  ///< instead of kYields, with `limited_time`
    static constexpr long kSleepNs = 50'000;

    static void pause_briefly() noexcept {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    bool spin_;
    bool may_sleep_ = true;
    unsigned yields_;
    unsigned still_ = 0;  ///< relax() calls since the last activity, at most kYields
    std::uint64_t activity_count_ = 0;
    SpinLimit spin_limit_;
};

}  // namespace weft::link
