// SPDX-License-Identifier: BSD-3-Clause
// kernels_scalar.cpp - the kernels that wider registers do not help: long double and pairs.
//
// Why      Compiled once, they cannot differ between instruction sets.
#include "run/reduce/kernels.hpp"

namespace weft::run {

constinit const KernelTable kScalarKernels = make_scalar_table("scalar");

}  // namespace weft::run
