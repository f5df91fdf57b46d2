// SPDX-License-Identifier: BSD-3-Clause
// warm_up.hpp - the first calls of a long kind: weft's, and as many of the host's between them as
// keep what weft's may cost within bounds.
//
// Idea     Two calls of each library come first. If weft is much quicker, it is called. Else only
//          as often as a thirtieth of the time spent pays for: for what all its calls have cost
//          beyond the host's, less what quicker ones have gained, and for what the next one is
//          expected to cost. A call that takes longer than was to be expected counts as what was
//          expected, or as two of the host's if that is more: it shares buffers, which comes once.
// Why      Weft shares buffers of long calls after up to 18 of them. A program that makes only so
//          many shall not pay for what it never gains from, and one that makes many finds out soon.
// Holds    All is computed from times that the members agree on, so all come to the same. As long
//          as weft is not much quicker, calls take at most 1.04 of the host's time, and what those
//          take beyond that which are longer than was to be expected.
// Next     choices.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace weft::mpi {

class WarmUp {
  public:
    /// Microseconds: of the host's calls (the mean), and of each of weft's since the last
    /// comparison.
    struct Times {
        double hosts_us = 0;
        std::array<double, 2> ours_us{};
    };
    /// Of each library, to begin with.
    static constexpr unsigned kFirst = 2;
    /// What may be lost of all time.
    static constexpr double kShare = 1.0 / 30;
    /// Weft is much quicker with so much of the host's time; less may be chance.
    static constexpr double kClear = 0.75;
    static constexpr double kHostsMax = 1 << 20;  ///< calls between two of weft's

    explicit WarmUp(unsigned calls) : left_(calls) {}

    /// Where the next call goes.
    [[nodiscard]] bool host() const { return hosts_ < hosts_wanted_; }
    /// A call is over. True: compared() is due.
    bool called(bool host, double us) {
        if (host) {
            // The first one may wait for ranks that come from the other library.
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
    /// The times of the slowest members. False: it is over.
    bool compared(const Times& longest) {
        if (hosts_ != 0) hosts_us_ = longest.hosts_us;
        spent_us_ += hosts_ * hosts_us_;
        for (unsigned call = 0; call < ours_; ++call) {
            const double us = longest.ours_us[call];
            spent_us_ += us;
            // One alone may be disturbed, or do what further ones need not.
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
    /// Microseconds that a call of each is expected to take now.
    [[nodiscard]] double expected_us() const { return expected_us_; }
    [[nodiscard]] double hosts_us() const { return hosts_us_; }

  private:
    /// Calls of the host before the next one of weft. One at least, to know what it takes now.
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
