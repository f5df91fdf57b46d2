// SPDX-License-Identifier: BSD-3-Clause
// bench_compare.hpp - `weft bench --compare`: times weft and MPI libraries on this machine.
//
// Idea     Rounds of jobs alternate between weft and each library, all with the measuring
//          loop of tools/measure. The result is the median over rounds, and the ratio of weft
//          to the fastest library.
// Why      A machine changes within minutes, so only alternating measurements can be compared.
// Holds    Programs that call MPI are not part of weft. They are peer_openmpi and peer_mpich in the
//          folder of the executable, which perf/ builds. On shared processors, Open MPI yields on
//          its own, and MPICH through a preload. Between virtual nodes both use TCP.
// Next     perf/compare for all collectives, with plots, a calibrator and spreads.
#pragma once

#include "tools/cli/bench_options.hpp"

namespace weft::tools {

/// Returns the exit status; prints the table or the object, and failures.
[[nodiscard]] int run_comparison(const BenchOptions& options);

}  // namespace weft::tools
