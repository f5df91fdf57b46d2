// SPDX-License-Identifier: BSD-3-Clause
// ping_pong.hpp - the calibrator: present transfer time of a cache line between two processors.
//
// Idea     Two processes, pinned to different processors, alternate in writing one word of a shared
//          page. Half a round trip is the time of one transfer.
// Why      On a virtual machine this time varies several-fold within minutes, without an action of
//          ours. Printed with a result, it shows the machine's mode during the measurement. Puts
//          and signals use one word for each direction. Then the writer must first take the line
//          back from the reader that polls it: the minimum cost of a signal.
// Holds    The caller's affinity does not change, because both processes are children. A deadline
//          ends the measurement.
// Next     docs/performance.md.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace weft::lab {

struct PingPongOptions {
    double seconds = 0.03;     ///< how long to measure
    int first_processor = -1;  ///< -1: the first two processors that this process may use
    int second_processor = -1;
    bool two_words = false;  ///< each process writes its own word, which the other polls
};

struct PingPong {
    double median_ns = 0;  ///< half a round trip; median over batches
    double min_ns = 0;
    int first_processor = 0;
    int second_processor = 0;
};

/// Fails with Status::environment if there are fewer than two usable processors, a system call
/// fails, or a child is delayed for seconds.
[[nodiscard]] base::Result<PingPong> measure_ping_pong(const PingPongOptions& options = {});

}  // namespace weft::lab
