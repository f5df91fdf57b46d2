// SPDX-License-Identifier: BSD-3-Clause
// bench_offload.hpp - `weft bench --offload`: time of a call that the network runs, compared with
// an ordinary started call.
//
// Idea     For each size it reports four medians over rounds: both kinds of call, with all ranks
//          present, and with one rank that starts its part and then sleeps. The slowest present
//          rank determines a round's time.
// Why      Offloading is meant for absent ranks: the other ranks must get past them. The sleeping
//          rank forwards messages in trees and exchanges.
// Holds    Results are checked, also on the sleeping rank. Descriptors are counted when queued, not
//          planned. The order of ends is determined by the host's clock.
#pragma once

#include "tools/cli/bench_options.hpp"

namespace weft::tools {

/// Runs the bench in a job; rank 0 prints. Returns the exit status.
[[nodiscard]] int bench_offload(const BenchOptions& options);

}  // namespace weft::tools
