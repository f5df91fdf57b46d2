// SPDX-License-Identifier: BSD-3-Clause
// bench_compare.hpp - `weft bench --compare`: MPI libraries timed beside weft on this machine.
//
// Idea     Rounds of jobs, weft's and each library's in turn, all with the measuring loop of
//          lab/measure. What counts is the median over rounds, and the ratio of weft to the best
//          library.
// Why      A machine changes from minute to minute: only what ran side by side can be compared.
// Holds    Programs that call MPI libraries are not part of weft: they are peer_openmpi and
//          peer_mpich beside its executable, which perf/ builds. Open MPI yields by itself where
//          ranks share processors, MPICH by a preload. Between virtual nodes both go over TCP.
// Next     perf/compare for all collectives, with plots, a calibrator and spreads.
#pragma once

#include "front/cli/bench_options.hpp"

namespace weft::front {

/// The exit status; prints the table or the object, and what fails.
[[nodiscard]] int run_comparison(const BenchOptions& options);

}  // namespace weft::front
