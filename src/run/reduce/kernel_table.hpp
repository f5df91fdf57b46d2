// SPDX-License-Identifier: BSD-3-Clause
// kernel_table.hpp - one table of reduction kernels per instruction set.
//
// Why      The files of the instruction sets include this header only, never reduce.hpp: an inline
//          library function compiled there for a newer processor could otherwise be the copy that
//          the linker keeps for all.
// Next     kernels.hpp for the loops; reduce.hpp for how one table is chosen.
#pragma once

#include <cstddef>

#include "weft/types.hpp"

namespace weft::run {

/// target[i] = left[i] (op) right[i] for i < count. `target` may be exactly `left` or `right` (or
/// both), else they must not overlap. Any alignment.
using ReduceFn = void (*)(void* target, const void* left, const void* right,
                          std::size_t count) noexcept;

/// A pass combines blocks of so many bytes.
inline constexpr std::size_t kPassBytes = 256;
/// Stores that bypass the caches write whole lines of so many bytes.
inline constexpr std::size_t kStreamAlignment = 64;

/// Operands to combine from the left, and the targets that get the result. Any operands may be
/// exactly one of the targets; else operands and targets do not overlap, nor do targets. Any
/// alignment.
struct ReducePass {
    std::byte* const* targets;
    std::size_t target_count;
    const std::byte* const* operands;
    std::size_t operand_count;  ///< at least 1; a single one is copied
    std::size_t bytes;          ///< that each pointer points to; a multiple of kPassBytes
    bool stream;                ///< stores bypass the caches; targets are aligned to whole lines
};
using ReducePassFn = void (*)(const ReducePass& pass) noexcept;

struct KernelRow {
    ReduceFn operations[kBuiltinOps];  ///< indexed by Op; nullptr where there is no such operation
    ReducePassFn sum_pass;             ///< nullptr where only pairs are added
};

struct KernelTable {
    const char* name;
    KernelRow types[kBuiltinTypes];  ///< indexed by Type; empty where another table has them
    ReducePassFn copy;               ///< takes one operand; nullptr in kScalarKernels
};

/// Goes with each of the others.
extern const KernelTable kScalarKernels;

extern const KernelTable kBaselineKernels;
#if defined(__x86_64__)
extern const KernelTable kX86V3Kernels;
extern const KernelTable kX86V4Kernels;
#endif

}  // namespace weft::run
