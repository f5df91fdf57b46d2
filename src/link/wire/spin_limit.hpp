// SPDX-License-Identifier: BSD-3-Clause
// spin_limit.hpp - how many failed polls in a row pause before the rank yields its processor.
//
// Idea     Where ranks fit the processors, pausing is the quickest way to wait, unless the
//          scheduler has put the peer on the same processor: it cannot run until this rank yields.
//          A wait that ends at the first poll after a yield is a sign of that, so the limit is
//          halved; now and then a wait may pause as long as ever, and if that ends it, the limit is
//          back. A yield that takes as long as the scheduler gives a process is no such sign: it
//          went to a stranger. Each yield costs a turn then, and the peer, on another processor,
//          waits for this rank when its own turn comes. So waits pause longer for a while.
// Why      With a busy loop on each of two processors a program of two ranks took 7.7 s, and 1.4 s
//          with an MPI library that does not yield.
// Holds    No clock, no system call. A wait is taken to begin where the number of failed polls
//          falls.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::link {

class SpinLimit {
  public:
    static constexpr unsigned kTrialEvery = 256;  ///< waits
    static constexpr unsigned kCrowdedFor = 256;  ///< waits after a yield to a stranger
    static constexpr unsigned kCrowdedFactor = 8;
    static constexpr std::uint64_t kTurnNs = 500'000;  ///< a yield that takes as long was to one

    explicit SpinLimit(unsigned most) : most_(most), usual_(most), limit_(most) {}

    /// Whether the rank pauses after so many failed polls in a row; otherwise it yields.
    [[nodiscard]] bool allows(unsigned failures) noexcept {
        if (failures <= last_) begin_wait();
        last_ = failures;
        return failures < limit_;
    }
    /// A yield has taken so long.
    void yielded(std::uint64_t ns) noexcept {
        if (ns < kTurnNs) return;
        crowded_ = kCrowdedFor;
        usual_ = most_;
    }
    /// What it learned: the limit of most waits, but for those on a crowded processor.
    [[nodiscard]] unsigned usual() const noexcept { return usual_; }

  private:
    /// Learns from how the wait before ended. The poll that ended it came after the pause or yield
    /// for `last_`.
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
    unsigned limit_;  ///< of this wait: the usual one, or in a trial the most
    unsigned last_ = 0;
    unsigned waits_ = 0;
    unsigned crowded_ = 0;  ///< waits that pause longer
};

}  // namespace weft::link
