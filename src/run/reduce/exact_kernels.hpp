// SPDX-License-Identifier: BSD-3-Clause
// exact_kernels.hpp - loops of exact sums, compiled for each instruction set.
//
// Idea     The error of a floating-point addition is itself a floating-point number (Knuth's
//          TwoSum). A loop keeps the sum and the sum of the errors. If the second sum loses no
//          error, the two numbers are the exact sum. Otherwise the loop returns false, and the
//          caller adds the values to integers. The vector types are GCC extensions, so one source
//          serves all instruction sets.
// Holds    The loops need the default rounding mode, and subnormal numbers (FloatState).
//          Infinities, NaNs and overflow count as lost errors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/reduce/kernel_table.hpp"

namespace weft::run {
namespace {  // one copy per instruction set: see kernels.cpp

using Doubles [[gnu::vector_size(8 * kExactLanes)]] = double;
using Words [[gnu::vector_size(8 * kExactLanes)]] = std::int64_t;

// Vectors are passed by reference: the convention for passing them by value depends on the
// instruction set.

template <class Vector, class T>
void load_lanes(Vector& to, const T* from) noexcept {
    __builtin_memcpy(&to, from, sizeof to);
}
template <class Vector, class T>
void store_lanes(T* to, const Vector& from) noexcept {
    __builtin_memcpy(to, &from, sizeof from);
}

/// Sets sum += value, and `error` to the error of the addition.
inline void add_with_error(Doubles& sum, const Doubles& value, Doubles& error) noexcept {
    const Doubles next = sum + value;
    const Doubles added = next - sum;
    error = (sum - (next - added)) + (value - added);
    sum = next;
}
/// Adds a value to a sum, and the error of this addition to `errors`. Marks the lanes of `lost` in
/// which the second addition is not exact.
inline void add_exactly(Doubles& sum, Doubles& errors, Words& lost, const Doubles& value) noexcept {
    Doubles error;
    add_with_error(sum, value, error);
    Doubles rest;
    add_with_error(errors, error, rest);
    lost |= rest != 0.0;
}

/// Sums of each lane. The kExactSums sums are independent, so that their additions overlap.
struct LaneSums {
    Doubles sums[kExactSums];
    Doubles errors[kExactSums] = {};
    Words lost = {};  ///< lanes that lost an error have a word other than 0

    /// -0.0 is the neutral element: a sum of negative zeros is negative.
    LaneSums() noexcept {
        for (Doubles& sum : sums) sum = -Doubles{};
    }
    void add(std::size_t index, const Doubles& value) noexcept {
        add_exactly(sums[index], errors[index], lost, value);
    }
    /// Stores kExactParts numbers. Returns true if their sum is exact.
    bool finish(double* parts) const noexcept {
        for (std::size_t i = 0; i < kExactSums; ++i) {
            store_lanes(parts + 2 * i * kExactLanes, sums[i]);
            store_lanes(parts + (2 * i + 1) * kExactLanes, errors[i]);
        }
        std::int64_t any = 0;
        for (std::size_t lane = 0; lane < kExactLanes; ++lane) any |= lost[lane];
        return any == 0;
    }
};

inline bool sum_exactly(const double* values, std::size_t count, double* parts) noexcept {
    LaneSums lanes;
    for (std::size_t at = 0; at < count; at += kExactStep)
        for (std::size_t i = 0; i < kExactSums; ++i) {
            Doubles value;
            load_lanes(value, values + at + i * kExactLanes);
            lanes.add(i, value);
        }
    return lanes.finish(parts);
}

#if defined(__FMA__) || defined(__aarch64__)
/// Adds products and their errors. Small products may lose errors below the least double.
inline bool sum_products_exactly(const double* left, const double* right, std::size_t count,
                                 double* parts) noexcept {
    LaneSums lanes;
    for (std::size_t at = 0; at < count; at += kExactLanes) {
        Doubles a;
        Doubles b;
        load_lanes(a, left + at);
        load_lanes(b, right + at);
        const Doubles product = a * b;
        Doubles error;
        for (std::size_t lane = 0; lane < kExactLanes; ++lane)
            error[lane] = __builtin_fma(a[lane], b[lane], -product[lane]);
        const Words small = (product < 0x1p-900) & (product > -0x1p-900);
        lanes.lost |= small & (a != 0.0) & (b != 0.0);
        lanes.add(0, product);
        lanes.add(1, error);
    }
    return lanes.finish(parts);
}
constexpr ExactProductsFn kSumProducts = &sum_products_exactly;
#else
constexpr ExactProductsFn kSumProducts = nullptr;
#endif

/// Lanes of a tile.
struct TileLanes {
    Doubles sum;
    Doubles errors;
    Words lost;

    TileLanes(const ExactTile& tile, std::size_t at) noexcept {
        load_lanes(sum, tile.sums + at);
        load_lanes(errors, tile.errors + at);
        load_lanes(lost, tile.lost + at);
    }
    void store(ExactTile& tile, std::size_t at) const noexcept {
        store_lanes(tile.sums + at, sum);
        store_lanes(tile.errors + at, errors);
        store_lanes(tile.lost + at, lost);
    }
};

/// Adds a column of values to a tile of independent sums.
inline void add_column(ExactTile& tile, const double* values, std::size_t count) noexcept {
    for (std::size_t at = 0; at < count; at += kExactLanes) {
        TileLanes lanes(tile, at);
        Doubles value;
        load_lanes(value, values + at);
        add_exactly(lanes.sum, lanes.errors, lanes.lost, value);
        lanes.store(tile, at);
    }
}

/// Rounds the sums of a tile, and sets `errors` to the rest. NaN and infinity count as lost.
inline void round_tile(ExactTile& tile, std::size_t count) noexcept {
    for (std::size_t at = 0; at < count; at += kExactLanes) {
        TileLanes lanes(tile, at);
        const Doubles before = lanes.sum;
        Doubles rest;
        add_with_error(lanes.sum, lanes.errors, rest);
        lanes.sum = lanes.errors == 0.0 ? before : lanes.sum;  // keeps the sign of a zero
        lanes.errors = rest;
        lanes.lost |= rest != rest;
        lanes.lost |= lanes.sum - lanes.sum != 0.0;
        lanes.store(tile, at);
    }
}

inline void find_range(const double* values, std::size_t count, ExactRange& range) noexcept {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    constexpr std::uint64_t kInfinity = std::uint64_t{0x7ff} << 52;
    std::uint64_t largest = range.largest;
    std::uint64_t smallest_minus_1 = range.smallest_minus_1;
    std::uint64_t special = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits;
        __builtin_memcpy(&bits, values + i, sizeof bits);
        const std::uint64_t magnitude = bits & ~kSign;
        const bool finite = magnitude < kInfinity;
        const std::uint64_t counted = finite ? magnitude : 0;
        largest = counted > largest ? counted : largest;
        const std::uint64_t minus_1 = counted - 1;  // 0 wraps, and so never is the smallest
        smallest_minus_1 = minus_1 < smallest_minus_1 ? minus_1 : smallest_minus_1;
        special |= std::uint64_t{!finite} | std::uint64_t{bits == kSign};
    }
    range.largest = largest;
    range.smallest_minus_1 = smallest_minus_1;
    range.special = range.special || special != 0;
}

inline std::size_t add_to_bins(const double* values, std::size_t count, ExactBins& bins) noexcept {
    constexpr std::size_t kTogether = 4;  // values between two tests of `full`
    std::size_t at = 0;
    bool full = false;
    while (!full && at < count) {
        const std::size_t end = count - at < kTogether ? count : at + kTogether;
        for (; at < end; ++at) {
            std::uint64_t bits;
            __builtin_memcpy(&bits, values + at, sizeof bits);
            bins.sums[bits >> 52] += bits;
            full |= ++bins.values[bits >> 52] > ExactBins::kValuesMax - kTogether;
        }
    }
    bins.full = full;
    return at;
}

constexpr ExactKernels exact_kernels() noexcept {
    return {&sum_exactly, kSumProducts, &add_column, &round_tile, &find_range, &add_to_bins};
}

}  // namespace
}  // namespace weft::run
