// SPDX-License-Identifier: BSD-3-Clause
// kernels_baseline.cpp - kernels that run on every processor of this architecture.
#include "run/reduce/kernels.hpp"

namespace weft::run {

#if defined(__x86_64__)
constinit const KernelTable kBaselineKernels = make_table("x86-64");
#else
constinit const KernelTable kBaselineKernels = make_table("baseline");
#endif

}  // namespace weft::run
