// SPDX-License-Identifier: BSD-3-Clause
// kernel_table.hpp - tables of reduction kernels, one for each instruction set.
//
// Why      The file that is compiled for each instruction set, kernels.cpp, includes this header,
//          never reduce.hpp. Otherwise, the linker might choose its copy of an inline function,
//          which older processors cannot run.
#pragma once

#include <cstddef>
#include <cstdint>

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

// --- exact sums (exact_kernels.hpp) ---

inline constexpr std::size_t kExactLanes = 8;
inline constexpr std::size_t kExactSums = 4;                         ///< independent vectors
inline constexpr std::size_t kExactStep = kExactLanes * kExactSums;  ///< values of an iteration
inline constexpr std::size_t kExactParts = 2 * kExactStep;           ///< results of a loop
inline constexpr std::size_t kExactTile = 256;                       ///< sums of a tile

/// A tile of sums. Unless an error was lost, sum i is exactly sums[i] + errors[i].
struct ExactTile {
    double sums[kExactTile];
    double errors[kExactTile];
    std::int64_t lost[kExactTile];  ///< not 0: the sum is not exact
};

/// Sums of values with equal sign and exponent, which are the upper 12 bits of a double.
struct ExactBins {
    static constexpr std::size_t kCount = std::size_t{1} << 12;
    static constexpr std::uint32_t kValuesMax = 2048;  ///< 2048 fractions of 52 bits fit 64 bits

    std::uint64_t sums[kCount];    ///< sums of the values' bits, modulo 2^64
    std::uint16_t values[kCount];  ///< number of values in the sum
    bool full;                     ///< must be emptied before further additions
};

/// Range of the magnitudes of an array of doubles. A magnitude is the bits without the sign.
struct ExactRange {
    std::uint64_t largest = 0;                           ///< largest finite magnitude
    std::uint64_t smallest_minus_1 = ~std::uint64_t{0};  ///< smallest except 0, minus 1
    bool special = false;                                ///< there is an infinity, a NaN or a -0.0
};

/// Sum `count` numbers, a multiple of kExactStep, into kExactParts parts. Return true if the sum of
/// the parts is exact.
using ExactSumFn = bool (*)(const double* values, std::size_t count, double* parts) noexcept;
using ExactProductsFn = bool (*)(const double* left, const double* right, std::size_t count,
                                 double* parts) noexcept;

struct ExactKernels {
    ExactSumFn sum;
    ExactProductsFn products;  ///< nullptr: this instruction set has no fused multiply-add
    /// Work on the first `count` sums, a multiple of kExactLanes.
    void (*add_column)(ExactTile& tile, const double* values, std::size_t count) noexcept;
    void (*round_tile)(ExactTile& tile, std::size_t count) noexcept;
    void (*find_range)(const double* values, std::size_t count, ExactRange& range) noexcept;
    /// Adds values, also infinities and NaNs, to bins that are not full. Returns the number added:
    /// all, unless a bin became full.
    std::size_t (*add_to_bins)(const double* values, std::size_t count, ExactBins& bins) noexcept;
};

struct KernelTable {
    const char* name;
    KernelRow types[kBuiltinTypes];  ///< indexed by Type; empty: the baseline's kernels are used
    ReducePassFn copy;               ///< copies its single operand
    ExactKernels exact;
};

extern const KernelTable kBaselineKernels;
#if defined(__x86_64__)
extern const KernelTable kX86V3Kernels;
extern const KernelTable kX86V4Kernels;
#endif

}  // namespace weft::run
