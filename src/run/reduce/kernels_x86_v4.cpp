// SPDX-License-Identifier: BSD-3-Clause
// kernels_x86_v4.cpp - the kernels for x86-64-v4 (AVX-512).
#if defined(__x86_64__)
#include "run/reduce/kernels.hpp"

namespace weft::run {

constinit const KernelTable kX86V4Kernels = make_table("x86-64-v4");

}  // namespace weft::run
#endif
