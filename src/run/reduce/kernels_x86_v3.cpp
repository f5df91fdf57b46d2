// SPDX-License-Identifier: BSD-3-Clause
// kernels_x86_v3.cpp - the kernels for x86-64-v3 (AVX2).
#if defined(__x86_64__)
#include "run/reduce/kernels.hpp"

namespace weft::run {

constinit const KernelTable kX86V3Kernels = make_table("x86-64-v3");

}  // namespace weft::run
#endif
