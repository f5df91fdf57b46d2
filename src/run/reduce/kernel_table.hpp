// SPDX-License-Identifier: BSD-3-Clause
// kernel_table.hpp - one table of reduction kernels per instruction set.
//
// Why      The files of the instruction sets include this header only, never reduce.hpp: an inline
//          library function compiled there for a newer processor could otherwise be the copy that
//          the linker keeps for everybody.
// Next     kernels.hpp for the loops; reduce.hpp for how one table is chosen.
#pragma once

#include <cstddef>

#include "weft/types.hpp"

namespace weft::run {

/// target[i] = left[i] (op) right[i] for i < count. `target` may be exactly `left` or `right` (or
/// both), else they must not overlap. Any alignment.
using ReduceFn = void (*)(void* target, const void* left, const void* right,
                          std::size_t count) noexcept;

struct KernelRow {
    ReduceFn operations[kBuiltinOps];  ///< indexed by Op; nullptr where there is no such operation
};

struct KernelTable {
    const char* name;
    KernelRow types[kBuiltinTypes];  ///< indexed by Type; empty where another table has them
};

/// Goes with each of the others.
extern const KernelTable kScalarKernels;

extern const KernelTable kBaselineKernels;
#if defined(__x86_64__)
extern const KernelTable kX86V3Kernels;
extern const KernelTable kX86V4Kernels;
#endif

}  // namespace weft::run
