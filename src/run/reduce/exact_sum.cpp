// SPDX-License-Identifier: BSD-3-Clause
#include "run/reduce/exact_sum.hpp"

#include <algorithm>
#include <cfenv>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace weft::run {

// --- floating-point state -----------------------------------------------------------------------

#if defined(__x86_64__)
FloatState::FloatState() noexcept {
    constexpr unsigned kDefault = 0x1f80;  // rounds to nearest, keeps subnormals, masks exceptions
    const unsigned state = _mm_getcsr();
    std::memcpy(saved_, &state, sizeof state);
    if (state != kDefault) _mm_setcsr(kDefault);
    asm volatile("" ::: "memory");  // no access to memory may move across the change
}
FloatState::~FloatState() {
    asm volatile("" ::: "memory");
    unsigned state;
    std::memcpy(&state, saved_, sizeof state);
    _mm_setcsr(state);
}
#else
static_assert(sizeof(std::fenv_t) <= 32);
FloatState::FloatState() noexcept {
    std::fegetenv(reinterpret_cast<std::fenv_t*>(saved_));
    std::fesetenv(FE_DFL_ENV);
    asm volatile("" ::: "memory");
}
FloatState::~FloatState() {
    asm volatile("" ::: "memory");
    std::fesetenv(reinterpret_cast<const std::fenv_t*>(saved_));
}
#endif

// --- sums of elements ----------------------------------------------------------------------------

namespace {

/// Stores a double that is a number of type T, an infinity or a NaN.
template <class T>
void store_one(double value, std::byte* to) {
    using Narrowest = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T stored(static_cast<Narrowest>(value));
    std::memcpy(to, &stored, sizeof stored);
}

FloatFormat format_of(Type type) {
    return type == Type::float32    ? kFloatFormat
           : type == Type::float16  ? kFloat16Format
           : type == Type::bfloat16 ? kBFloat16Format
                                    : kDoubleFormat;
}

/// Rounds value + rest, where |rest| is at most half a unit of the last place of `value`. If the
/// rest is not 0, first sets the value's last bit to 1 (round to odd), so that rounding a second
/// time, to a narrower type, gives the correct result.
template <class T>
double round_pair(double value, double rest) {
    if constexpr (std::is_same_v<T, double>) {
        return value;
    } else {
        std::uint64_t bits = bits_of(value);
        if (rest != 0 && bits % 2 == 0) bits += (rest > 0) == (value > 0) ? 1 : std::uint64_t(-1);
        if constexpr (std::is_same_v<T, float>) return static_cast<float>(double_of(bits));
        const FiniteValue parts = split(bits);
        if (parts.mantissa == 0) return value;
        const int shift = 64 + __builtin_clzll(parts.mantissa);  // moves the leading bit to bit 127
        return LeadingBits{static_cast<UInt128>(parts.mantissa) << shift,
                           kLeastExponent + parts.position - shift, parts.negative}
            .rounded(format_of(type_of<T>()));
    }
}

/// The word of special values has three counts of 21 bits: see Specials.
constexpr int kNegativeShift = 21;
constexpr int kOtherShift = 42;
constexpr std::int64_t kCountMask = (std::int64_t{1} << kNegativeShift) - 1;

constexpr int kPrecision = 53;  // bits of a double's mantissa

/// Calls body(first, count, doubles) for tiles of an array of values.
template <class Body>
void for_tiles(Type type, const void* values, std::size_t count, Body body) {
    alignas(64) double tile[kExactTile];
    for (std::size_t at = 0; at < count; at += kExactTile) {
        const std::size_t size = std::min(kExactTile, count - at);
        widen(type, values, at, size, tile);
        body(at, size, tile);
    }
}

/// Returns the exact sum of element `index` of the columns.
template <class T>
double sum_column(const ExactKernels& kernels, const void* columns, std::size_t stride,
                  std::size_t summands, std::size_t index) {
    std::int64_t words[ExactNumber::kWords] = {};
    ExactNumber sum(words);
    for (std::size_t column = 0; column < summands; ++column)
        sum.add(kernels, type_of<T>(), static_cast<const T*>(columns) + column * stride + index, 1);
    return sum.rounded(format_of(type_of<T>()));
}

}  // namespace

ExactWindow ExactWindow::all(Type type) {
    // Positions, as split() returns them, of the smallest and the largest value as doubles.
    const FloatFormat format = format_of(type);
    const int smallest = std::max(0, format.least - (kPrecision - 1) - kLeastExponent);
    const int largest = format.limit - kPrecision - kLeastExponent;
    return {smallest, (largest - smallest + kPrecision) / kDigitBits + 1, true};
}

std::array<std::int64_t, 3> ExactWindow::bounds(const ExactRange& range) {
    const std::int64_t special{range.special};
    if (range.largest == 0) return {-1, kLeastExponent * 2, special};
    return {split(range.largest).position, -split(range.smallest_minus_1 + 1).position, special};
}

ExactWindow ExactWindow::within(const std::array<std::int64_t, 3>& bounds) {
    const bool special = bounds[2] != 0;
    if (bounds[0] < 0) return {0, 1, special};
    const int smallest = static_cast<int>(-bounds[1]);
    const int bits = static_cast<int>(bounds[0]) - smallest + kPrecision;
    return {smallest, (bits + kDigitBits - 1) / kDigitBits, special};
}

ExactRange range_of(const ExactKernels& kernels, Type type, const void* values,
                    std::size_t count) noexcept {
    const FloatState state;
    ExactRange range;
    for_tiles(type, values, count, [&](std::size_t, std::size_t size, const double* tile) {
        kernels.find_range(tile, size, range);
    });
    return range;
}

void to_words(const ExactWindow& window, Type type, const void* values, std::size_t count,
              std::int64_t* words) noexcept {
    const FloatState state;
    std::fill_n(words, window.words() * count, 0);
    std::int64_t* const special = words + static_cast<std::size_t>(window.digits) * count;
    for_tiles(type, values, count, [&](std::size_t first, std::size_t size, const double* tile) {
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint64_t bits = bits_of(tile[i]);
            if (window.special) {
                Specials found;
                found.add(bits);
                special[first + i] = std::int64_t{found.positive} |
                                     std::int64_t{found.negative} << kNegativeShift |
                                     std::int64_t{found.other} << kOtherShift;
                if (found.infinite()) continue;
            }
            const FiniteValue parts = split(bits);
            if (parts.mantissa != 0)
                add_number(words + first + i, count, parts.mantissa, parts.position - window.base,
                           parts.negative);
        }
    });
}

void from_words(const ExactWindow& window, Type type, const std::int64_t* words, std::size_t count,
                void* values) noexcept {
    const FloatState state;
    const std::int64_t* const special = words + static_cast<std::size_t>(window.digits) * count;
    with_type(type, [&](auto sample) {
        using T = decltype(sample);
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t counts =
                window.special ? special[i] : std::int64_t{1} << kOtherShift;
            const Specials found{(counts & kCountMask) != 0,
                                 (counts >> kNegativeShift & kCountMask) != 0,
                                 counts >> kOtherShift != 0};
            const double sum = found.infinite() ? found.infinity()
                               : !found.other   ? double_of(kSignBit)
                                                : leading_bits(words + i, count, window.digits,
                                                               kLeastExponent + window.base)
                                                    .rounded(format_of(type));
            store_one<T>(sum, static_cast<std::byte*>(values) + i * sizeof(T));
        }
    });
}

void sum_columns(const ExactKernels& kernels, Type type, const void* columns, std::size_t stride,
                 std::size_t summands, std::size_t count, void* out) noexcept {
    const FloatState state;
    alignas(64) ExactTile tile;
    alignas(64) double values[kExactTile];
    for (std::size_t at = 0; at < count; at += kExactTile) {
        const std::size_t size = std::min(kExactTile, count - at);
        const std::size_t padded = (size + kExactLanes - 1) / kExactLanes * kExactLanes;
        std::fill_n(tile.sums, padded, -0.0);
        std::fill_n(tile.errors, padded, 0.0);
        std::fill_n(tile.lost, padded, 0);
        std::fill(values + size, values + padded, 0.0);
        for (std::size_t column = 0; column < summands; ++column) {
            const std::size_t first = column * stride + at;
            const double* from = values;
            if (type == Type::float64 && size == padded)
                from = static_cast<const double*>(columns) + first;
            else
                widen(type, columns, first, size, values);
            kernels.add_column(tile, from, padded);
        }
        kernels.round_tile(tile, padded);
        with_type(type, [&](auto sample) {
            using T = decltype(sample);
            for (std::size_t i = 0; i < size; ++i) {
                const double sum = tile.lost[i] != 0
                                       ? sum_column<T>(kernels, columns, stride, summands, at + i)
                                       : round_pair<T>(tile.sums[i], tile.errors[i]);
                store_one<T>(sum, static_cast<std::byte*>(out) + (at + i) * sizeof(T));
            }
        });
    }
}

void unify_nans(Type type, void* values, std::size_t count) noexcept {
    if (part_type(type) != type) return unify_nans(part_type(type), values, 2 * count);
    const FloatState state;
    with_type(type, [&](auto sample) {
        using T = decltype(sample);
        auto* const bytes = static_cast<std::byte*>(values);
        for_tiles(type, values, count,
                  [&](std::size_t first, std::size_t size, const double* tile) {
                      int nans = 0;
                      for (std::size_t i = 0; i < size; ++i) nans += tile[i] != tile[i] ? 1 : 0;
                      for (std::size_t i = 0; i < size && nans != 0; ++i)
                          if (tile[i] != tile[i])
                              store_one<T>(double_of(kQuietNan), bytes + (first + i) * sizeof(T));
                  });
    });
}

}  // namespace weft::run
