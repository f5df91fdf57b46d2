// SPDX-License-Identifier: BSD-3-Clause
// kernels_scalar.cpp - kernels of long double and pairs, which wider registers do not accelerate.
//
// Why      These kernels are compiled once, so results cannot differ between instruction sets.
#include "run/reduce/kernels.hpp"

namespace weft::run {

constinit const KernelTable kScalarKernels = make_scalar_table("scalar");

}  // namespace weft::run
