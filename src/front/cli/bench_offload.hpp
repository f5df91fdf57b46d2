// SPDX-License-Identifier: BSD-3-Clause
// bench_offload.hpp - `weft bench --offload`: what a call takes that the network runs, beside the
// same call started as usual.
//
// Idea     Per size four medians over rounds: both kinds of call with all ranks there, and with one
//          that starts its part and then sleeps. Of each round the slowest rank that is there
//          counts.
// Why      A rank that is away is what offloading is for: through it others have to get, without
//          it. The one that sleeps passes messages on in trees and exchanges.
// Holds    Results are checked, the sleeper's included. The number of descriptors is what was
//          queued, not what was planned. Who was through first is told by the clock of the host.
#pragma once

#include "front/cli/bench_options.hpp"

namespace weft::front {

/// In a job; rank 0 prints. The exit status.
[[nodiscard]] int bench_offload(const BenchOptions& options);

}  // namespace weft::front
