// SPDX-License-Identifier: BSD-3-Clause
// kernel_table.hpp - tables of reduction kernels, one for each instruction set.
//
// Why      The files that are compiled for an instruction set (kernels_*.cpp) include only this
//          header, never reduce.hpp. Otherwise, the linker might choose their copy of an inline
//          function, which older processors cannot run.
#pragma once

#include <cstddef>

#include "weft/types.hpp"

namespace weft::run {

/// Sets target[i] = left[i] (op) right[i] for i < count. `target` may equal `left` or `right` or
/// both; otherwise they must not overlap. Any alignment.
using ReduceFn = void (*)(void* target, const void* left, const void* right,
                          std::size_t count) noexcept;

/// The size of a pass is a multiple of this number of bytes.
inline constexpr std::size_t kPassBytes = 256;
/// Size of a cache line in bytes. Stores that bypass the caches write whole lines.
inline constexpr std::size_t kStreamAlignment = 64;

/// Arguments of a pass: combines the operands from left to right, and stores the result to each
/// target. An operand may equal a target. Otherwise, operands and targets must not overlap, and
/// targets must not overlap each other. Any alignment.
struct ReducePass {
    std::byte* const* targets;
    std::size_t target_count;
    const std::byte* const* operands;
    std::size_t operand_count;  ///< at least 1; a single operand is copied
    std::size_t bytes;          ///< size of each buffer; a multiple of kPassBytes
    bool stream;                ///< stores bypass the caches; targets are aligned to cache lines
};
using ReducePassFn = void (*)(const ReducePass& pass) noexcept;

struct KernelRow {
    ReduceFn operations[kBuiltinOps];  ///< indexed by Op; nullptr: no such operation
    ReducePassFn sum_pass;             ///< sums any number of operands; nullptr: none
};

struct KernelTable {
    const char* name;
    KernelRow types[kBuiltinTypes];  ///< indexed by Type; empty: see kScalarKernels
    ReducePassFn copy;               ///< copies its single operand; nullptr in kScalarKernels
};

/// Kernels of the types that all other tables lack.
extern const KernelTable kScalarKernels;

extern const KernelTable kBaselineKernels;
#if defined(__x86_64__)
extern const KernelTable kX86V3Kernels;
extern const KernelTable kX86V4Kernels;
#endif

}  // namespace weft::run
