// SPDX-License-Identifier: BSD-3-Clause
// kernel_table.hpp - one table of reduction kernels per instruction set.
//
// Why      The files of the instruction sets include only this header, never reduce.hpp. Otherwise,
//          an inline library function compiled there for a newer processor could be the copy that
//          the linker keeps.
// Next     kernels.hpp for the loops; reduce.hpp for the choice of a table.
#pragma once

#include <cstddef>

#include "weft/types.hpp"

namespace weft::run {

/// Sets target[i] = left[i] (op) right[i] for i < count. `target` may equal `left` or `right` or
/// both; otherwise they must not overlap. Any alignment.
using ReduceFn = void (*)(void* target, const void* left, const void* right,
                          std::size_t count) noexcept;

/// A pass combines blocks of this size, in bytes.
inline constexpr std::size_t kPassBytes = 256;
/// Stores that bypass the caches write whole lines of this size, in bytes.
inline constexpr std::size_t kStreamAlignment = 64;

/// Operands to combine from the left, and targets of the result. An operand may equal a target.
/// Otherwise, operands and targets must not overlap, nor must two targets. Any alignment.
struct ReducePass {
    std::byte* const* targets;
    std::size_t target_count;
    const std::byte* const* operands;
    std::size_t operand_count;  ///< at least 1; a single one is copied
    std::size_t bytes;          ///< of each buffer; a multiple of kPassBytes
    bool stream;                ///< stores bypass the caches; targets are aligned to whole lines
};
using ReducePassFn = void (*)(const ReducePass& pass) noexcept;

struct KernelRow {
    ReduceFn operations[kBuiltinOps];  ///< indexed by Op; nullptr: no such operation
    ReducePassFn sum_pass;             ///< nullptr: only pairs are added
};

struct KernelTable {
    const char* name;
    KernelRow types[kBuiltinTypes];  ///< indexed by Type; empty if another table has them
    ReducePassFn copy;               ///< takes one operand; nullptr in kScalarKernels
};

/// Complements each of the others.
extern const KernelTable kScalarKernels;

extern const KernelTable kBaselineKernels;
#if defined(__x86_64__)
extern const KernelTable kX86V3Kernels;
extern const KernelTable kX86V4Kernels;
#endif

}  // namespace weft::run
