// SPDX-License-Identifier: BSD-3-Clause
// warm_up.hpp - the first calls of a long kind: alternates weft and the host, and bounds the cost
// of weft's calls.
//
// Idea     Two calls of each library come first. If weft is clearly faster, it gets the next calls.
//          Otherwise weft is called only when its loss stays below a thirtieth of the time spent.
//          The loss is the time beyond the host's of all calls of weft, reduced by the gain of
//          faster ones, plus the expected loss of the next call. A call that takes longer than
//          expected counts as the expected time, or as two host calls if that is more: it shares
//          buffers, which happens once.
// Why      Weft shares buffers of long calls after at most 18 of them. A program with few calls
//          must not pay for sharing, and a program with many must find out soon.
// Holds    All members compute from the same agreed times, so they decide equally. While weft is
//          not clearly faster, calls take at most 1.04 of the host's time, plus the excess of calls
//          that take longer than expected.
// Next     choices.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace weft::mpi {

class WarmUp {
  public:
    /// Microseconds: mean of the host's calls, and each of weft's calls since the last comparison.
    struct Times {
        double hosts_us = 0;
        std::array<double, 2> ours_us{};
    };
    /// First calls of each library.
    static constexpr unsigned kFirst = 2;
    /// Largest fraction of the time that may be lost.
    static constexpr double kShare = 1.0 / 30;
    /// Weft is clearly faster below this fraction of the host's time; smaller gains may be noise.
    static constexpr double kClear = 0.75;
    static constexpr double kHostsMax =
        1 << 20;  ///< largest number of host calls between two calls of weft

    explicit WarmUp(unsigned calls) : left_(calls) {}

    /// Returns true if the next call goes to the host.
    [[nodiscard]] bool host() const { return hosts_ < hosts_wanted_; }
    /// Records a call. Returns true if compared() is due.
    bool called(bool host, double us) {
        if (host) {
            // The first one may wait for ranks still in the other library.
            if (++hosts_ > 1 || hosts_wanted_ == 1) sum_us_ += us;
            return false;
        }
        ours_us_[ours_] = us;
        return ++ours_ == ours_wanted_;
    }
    [[nodiscard]] Times times() const {
        const unsigned timed = std::max(hosts_, 2U) - 1;
        return {.hosts_us = sum_us_ / timed, .ours_us = ours_us_};
    }
    /// Takes the times of the slowest members. Returns false if the warm-up is over.
    bool compared(const Times& longest) {
        if (hosts_ != 0) hosts_us_ = longest.hosts_us;
        spent_us_ += hosts_ * hosts_us_;
        for (unsigned call = 0; call < ours_; ++call) {
            const double us = longest.ours_us[call];
            spent_us_ += us;
            // A single call may be disturbed, or do work that later calls need not do.
            lost_us_ += std::min(us, std::max(expected_us_, 2 * hosts_us_)) - hosts_us_;
            expected_us_ = last_us_ == 0 ? us : std::min(us, last_us_);
            last_us_ = us;
        }
        left_ -= std::min(left_, ours_);
        hosts_ = ours_ = 0;
        ours_wanted_ = 1;
        hosts_wanted_ = hosts_first();
        sum_us_ = 0;
        return left_ != 0;
    }
    /// Return the expected time of a call of each library, in microseconds.
    [[nodiscard]] double expected_us() const { return expected_us_; }
    [[nodiscard]] double hosts_us() const { return hosts_us_; }

  private:
    /// Returns the number of host calls before weft's next call. It is at least 1, to measure the
    /// host's present time.
    [[nodiscard]] unsigned hosts_first() const {
        if (expected_us_ <= kClear * hosts_us_) return 0;
        const double loss_us = std::max(expected_us_ - hosts_us_, 0.0);
        const double needed_us = (lost_us_ + loss_us) / kShare - spent_us_;
        const double calls = std::ceil(needed_us / std::max(hosts_us_, 1e-3));
        return static_cast<unsigned>(std::clamp(calls, 1.0, kHostsMax));
    }

    unsigned left_;
    unsigned hosts_wanted_ = kFirst;
    unsigned ours_wanted_ = kFirst;
    unsigned hosts_ = 0;  ///< since the last comparison
    unsigned ours_ = 0;
    double sum_us_ = 0;
    std::array<double, kFirst> ours_us_{};
    double hosts_us_ = 0;
    double last_us_ = 0;
    double expected_us_ = 0;
    double spent_us_ = 0;
    double lost_us_ = 0;
};

}  // namespace weft::mpi
