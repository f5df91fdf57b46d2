// SPDX-License-Identifier: BSD-3-Clause
// waiter.hpp - pauses between failed polls: a rank spins, yields its processor, or sleeps.
//
// Idea     If the ranks fit the processors, pausing is the fastest way to wait, unless the
//          scheduler runs the peer on the same processor. Then the peer runs only after a yield. A
//          wait that ends at the first poll after a yield is a sign of this, so the limit of pauses
//          is halved. From time to time, a wait may pause up to the full limit. If the wait then
//          ends while pausing, the full limit is restored.
//          A yield that takes a whole time slice is not such a sign: another program got the
//          processor. Such yields are expensive, and the peer, on another processor, waits for this
//          rank meanwhile. So waits pause longer for a while.
//          Long waits sleep, but not while peers use this rank, even if its own wait is long.
// Why      With busy loops of other programs on the processors, waits that yield early make ranks
//          several times slower.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::link {

/// Number of failed polls in a row after which a rank yields its processor.
class SpinLimit {
  public:
    static constexpr unsigned kTrialEvery = 256;  ///< waits
    static constexpr unsigned kCrowdedFor = 256;  ///< waits after a yield to another program
    static constexpr unsigned kCrowdedFactor = 8;
    /// A longer yield means that another program ran.
    static constexpr std::uint64_t kTurnNs = 500'000;

    explicit SpinLimit(unsigned most) : most_(most), usual_(most), limit_(most) {}

    /// Returns true if the rank should pause after `failures` failed polls in a row, false if
    /// it should yield.
    [[nodiscard]] bool allows(unsigned failures) noexcept {
        if (failures <= last_) begin_wait();
        last_ = failures;
        return failures < limit_;
    }
    void yielded(std::uint64_t ns) noexcept {
        if (ns < kTurnNs) return;
        crowded_ = kCrowdedFor;
        usual_ = most_;
    }
    /// Returns the current limit of most waits, without the effect of other programs.
    [[nodiscard]] unsigned usual() const noexcept { return usual_; }

  private:
    /// Adapts the limit to the end of the previous wait. The poll that ended it followed the pause
    /// or yield for `last_`.
    void begin_wait() noexcept {
        if (crowded_ != 0) {
            --crowded_;
            limit_ = most_ * kCrowdedFactor;
            return;
        }
        if (last_ == limit_) {
            usual_ = std::max(usual_ / 2, 1U);
        } else if (last_ >= usual_ && last_ < limit_) {
            usual_ = most_;
        }
        limit_ = ++waits_ % kTrialEvery == 0 ? most_ : usual_;
    }

    unsigned most_;
    unsigned usual_;
    unsigned limit_;  ///< of this wait: usual_, or most_ in a trial
    unsigned last_ = 0;
    unsigned waits_ = 0;
    unsigned crowded_ = 0;  ///< waits that still pause longer
};

class Waiter {
  public:
    /// `spin`: waits may pause; a pause that also polls a network is longer. `limited_time`:
    /// processor time is limited by a quota, so waits sleep early to save it.
    Waiter(bool spin, bool polls_network, bool limited_time)
        : spin_(spin),
          yields_(limited_time ? kYieldsOfQuota : kYields),
          spin_limit_(polls_network ? kSpinsPolling : kSpins) {}

    /// Pauses, yields, or in long waits sleeps briefly, after `failures` failed polls in a row.
    void relax(unsigned failures) noexcept;
    /// Returns true if relax() would sleep after `failures` failed polls in a row.
    [[nodiscard]] bool sleeps_after(unsigned failures) const noexcept {
        return may_sleep_ && failures >= yields_ && still_ >= yields_;
    }
    /// Allows long waits to sleep. Not allowed while they also drive another library.
    void allow_sleep(bool may) noexcept { may_sleep_ = may; }
    /// Records an arrival from a peer, a served request, or a completion.
    void note_activity() noexcept {
        ++activity_count_;
        still_ = 0;
    }
    [[nodiscard]] std::uint64_t activity_count() const noexcept { return activity_count_; }

  private:
    static constexpr unsigned kSpins = 4096;        ///< about 100 us of pauses, then yield
    static constexpr unsigned kSpinsPolling = 128;  ///< for polls that also poll a network
    static constexpr unsigned kYields = 200'000;    ///< yields before a wait sleeps
    static constexpr unsigned kYieldsOfQuota = 200;

    bool spin_;
    bool may_sleep_ = true;
    unsigned yields_;
    unsigned still_ = 0;  ///< relax() calls since the last activity
    std::uint64_t activity_count_ = 0;
    SpinLimit spin_limit_;
};

}  // namespace weft::link
