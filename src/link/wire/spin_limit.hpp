// SPDX-License-Identifier: BSD-3-Clause
// spin_limit.hpp - number of failed polls in a row after which a rank yields its processor.
//
// Idea     If the ranks fit the processors, pausing is the fastest way to wait, unless the
//          scheduler runs the peer on the same processor. Then the peer runs only after a yield. A
//          wait that ends at the first poll after a yield is a sign of this, so the limit is
//          halved. From time to time, a wait may pause up to the full limit. If the wait then ends
//          while pausing, the full limit is restored.
//          A yield that takes a whole time slice is not such a sign: another program got the
//          processor. Such yields are expensive, and the peer, on another processor, waits for this
//          rank meanwhile. So waits pause longer for a while.
// Why      With busy loops of other programs on the processors, waits that yield early make ranks
//          several times slower.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::link {

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
    /// Records the duration of a yield.
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

}  // namespace weft::link
