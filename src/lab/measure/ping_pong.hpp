// SPDX-License-Identifier: BSD-3-Clause
// ping_pong.hpp - the calibrator: how long one cache line takes between two processors right now.
//
// Idea     Two processes, each pinned to a processor of its own, take turns at writing one word in
//          a page they share; half a turn is the time of one cache line on its way.
// Why      On a virtual machine this time changes several-fold within minutes without any doing of
//          ours. Printed beside a figure it says in which mode of the machine the figure was taken.
//          With a word for each direction, as puts and signals have it, the line must also be taken
//          from the one that looks at it before it is written: that is what a signal can cost at
//          least.
// Holds    The caller's own affinity stays as it is: both processes are children. Ends by a
//          deadline.
// Next     docs/performance.md.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace weft::lab {

struct PingPongOptions {
    double seconds = 0.03;     ///< how long to measure
    int first_processor = -1;  ///< -1: the first two that this process may use
    int second_processor = -1;
    bool two_words = false;  ///< each process has a word of its own, which the other writes
};

struct PingPong {
    double median_ns = 0;  ///< half a round trip; median over batches
    double min_ns = 0;
    int first_processor = 0;
    int second_processor = 0;
};

/// Environment failures: fewer than two usable processors, refused system calls, a child that was
/// held up for seconds.
[[nodiscard]] base::Result<PingPong> measure_ping_pong(const PingPongOptions& options = {});

}  // namespace weft::lab
