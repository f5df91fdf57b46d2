// SPDX-License-Identifier: BSD-3-Clause
// kernels_scalar.cpp - kernels that wider registers do not accelerate: long double and pairs.
//
// Why      They are compiled once, so they cannot differ between instruction sets.
#include "run/reduce/kernels.hpp"

namespace weft::run {

constinit const KernelTable kScalarKernels = make_scalar_table("scalar");

}  // namespace weft::run
