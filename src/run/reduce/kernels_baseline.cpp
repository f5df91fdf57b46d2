// SPDX-License-Identifier: BSD-3-Clause
// kernels_baseline.cpp - the kernels for every processor this build runs on.
#include "run/reduce/kernels.hpp"

namespace weft::run {

#if defined(__x86_64__)
constinit const KernelTable kBaselineKernels = make_table("x86-64");
#else
constinit const KernelTable kBaselineKernels = make_table("baseline");
#endif

}  // namespace weft::run
