// SPDX-License-Identifier: BSD-3-Clause
// ping_pong.hpp - the calibrator: times the transfer of a cache line between two processors.
//
// Idea     Two processes, pinned to different processors, alternate in writing one word of shared
//          memory. Half a round trip is the time of one transfer.
// Why      On a virtual machine this time varies several-fold within minutes, whatever the program
//          does. Printed with a result, it shows the machine's mode during the measurement. With
//          two_words, the writer must first get the line back from the reader that polls it, as in
//          puts and signals. So this time is a lower bound of a signal's time.
// Holds    The caller's affinity does not change, because both processes are children. The
//          measurement fails if it has not ended 10 s after its requested end.
// Next     docs/performance.md.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace weft::lab {

struct PingPongOptions {
    double seconds = 0.03;     ///< duration of the measurement
    int first_processor = -1;  ///< if either is -1: the first two that this process may use
    int second_processor = -1;
    bool two_words = false;  ///< each process writes its own word, and polls the other one
};

struct PingPong {
    double median_ns = 0;  ///< half a round trip; median over batches
    double min_ns = 0;
    int first_processor = 0;
    int second_processor = 0;
};

/// Fails with fewer than two usable processors, at the deadline, or if a system call fails.
[[nodiscard]] base::Result<PingPong> measure_ping_pong(const PingPongOptions& options = {});

}  // namespace weft::lab
