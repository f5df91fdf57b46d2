// SPDX-License-Identifier: BSD-3-Clause
// exact_number.cpp - sums of arrays for programs.
#include <algorithm>
#include <array>

#include "run/reduce/exact_sum.hpp"
#include "run/reduce/exact_values.hpp"

namespace weft::run {

namespace {

// Words after the digits. The first two hold two counts each.
constexpr int kInfinities = kDigitsMax;  ///< of +infinity; of -infinity in the upper half
constexpr int kZeros = kDigitsMax + 1;   ///< of values other than -0.0; of -0.0 in the upper half
constexpr int kAdditions = kDigitsMax + 2;  ///< digits are below this number times 2^44
constexpr std::int64_t kAdditionsMost = std::int64_t{1} << 18;

constexpr std::uint64_t kLow = 1;
constexpr std::uint64_t kHigh = std::uint64_t{1} << 32;
void mark(std::int64_t& word, std::uint64_t half) {
    const std::uint64_t mask = half == kLow ? kHigh - 1 : ~(kHigh - 1);
    if ((static_cast<std::uint64_t>(word) & mask) == 0) word += static_cast<std::int64_t>(half);
}
bool has_low(std::int64_t word) {
    return (static_cast<std::uint64_t>(word) & (kHigh - 1)) != 0;
}
bool has_high(std::int64_t word) {
    return static_cast<std::uint64_t>(word) >> 32 != 0;
}

constexpr std::size_t kRun = 8192;    ///< values that one loop adds
constexpr std::size_t kChunk = 2048;  ///< values that are converted together
/// After a loop that lost an error, this number of runs is at most added by bins.
constexpr std::uint32_t kSkippedMost = 64;
/// Arrays below this length are added one value at a time.
constexpr std::size_t kBinsMin = 256;

}  // namespace

void ExactNumber::clear() noexcept {
    std::fill_n(words_, kWords, 0);
}

void ExactNumber::count_addition() noexcept {
    if (++words_[kAdditions] >= kAdditionsMost) pack();
}

void ExactNumber::pack() noexcept {
    move_carries(words_, kDigitsMax);
    words_[kAdditions] = 1;
}

void ExactNumber::add_one(double value) noexcept {
    const std::uint64_t bits = bits_of(value);
    mark(words_[kZeros], bits == kSignBit ? kHigh : kLow);
    if (!is_finite(bits)) {
        Specials specials;
        specials.add(bits);
        if (specials.positive) mark(words_[kInfinities], kLow);
        if (specials.negative) mark(words_[kInfinities], kHigh);
        return;
    }
    const FiniteValue parts = split(bits);
    add_number(words_, 1, parts.mantissa, parts.position - kLeastExponent, parts.negative);
    count_addition();
}

void ExactNumber::add_product(double left, double right) noexcept {
    const std::uint64_t a = bits_of(left);
    const std::uint64_t b = bits_of(right);
    if (!is_finite(a) || !is_finite(b) || left == 0 || right == 0) return add_one(left * right);
    const FiniteValue x = split(a);
    const FiniteValue y = split(b);
    const auto product = static_cast<UInt128>(x.mantissa) * y.mantissa;
    const bool negative = x.negative != y.negative;
    mark(words_[kZeros], kLow);
    add_number(words_, 1, static_cast<std::uint64_t>(product), x.position + y.position, negative);
    count_addition();
    add_number(words_, 1, product >> 64, x.position + y.position + 64, negative);
    count_addition();
}

void ExactNumber::add_parts(const double* parts, std::size_t values) noexcept {
    for (std::size_t i = 0; i < kExactParts; ++i) {
        const bool sums_values = i / kExactLanes % 2 == 0 && i < values;
        if (sums_values || parts[i] != 0) add_one(parts[i]);
    }
}

void ExactNumber::empty_bins(std::int64_t* bins) noexcept {
    for (std::size_t exponent = 0; exponent < kExactBins; ++exponent) {
        const std::int64_t bin = bins[exponent];
        if (bin == 0) continue;
        bins[exponent] = 0;
        const int position = exponent == 0 ? 0 : static_cast<int>(exponent) - 1;
        add_number(words_, 1, static_cast<std::uint64_t>(bin < 0 ? -bin : bin),
                   position - kLeastExponent, bin < 0);
        count_addition();
    }
}

void ExactNumber::add_by_bins(const ExactKernels& kernels, const double* values,
                              std::size_t count) noexcept {
    if (count < kBinsMin) {
        for (std::size_t i = 0; i < count; ++i) add_one(values[i]);
        return;
    }
    std::array<std::int64_t, kExactBins> bins{};
    for (std::size_t at = 0; at < count; at += kRun) {
        const std::size_t some = std::min(kRun, count - at);
        ExactRange range;
        kernels.find_range(values + at, some, range);
        if (range.special) {
            for (std::size_t i = 0; i < some; ++i) add_one(values[at + i]);
            continue;
        }
        if (range.other) mark(words_[kZeros], kLow);
        if (range.negative_zero) mark(words_[kZeros], kHigh);
        for (std::size_t i = 0; i < some;) {
            i += kernels.add_to_bins(values + at + i, some - i, bins.data());
            if (i < some) empty_bins(bins.data());
        }
    }
    empty_bins(bins.data());
}

void ExactNumber::add_doubles(const ExactKernels& kernels, const double* values, std::size_t count,
                              std::uint32_t& skipped) noexcept {
    const std::size_t whole = count / kExactStep * kExactStep;
    alignas(64) double parts[kExactParts];
    if (whole < 2 * kExactParts) return add_by_bins(kernels, values, count);
    if (!kernels.sum(values, whole, parts)) {
        skipped = std::min(2 * skipped + 1, kSkippedMost);
        return add_by_bins(kernels, values, count);
    }
    skipped = 0;
    add_parts(parts, kExactParts);
    for (std::size_t i = whole; i < count; ++i) add_one(values[i]);
}

void ExactNumber::add(const ExactKernels& kernels, Type type, const void* values,
                      std::size_t count) noexcept {
    const FloatState state;
    std::uint32_t skipped = 0;
    if (type == Type::float64 && reinterpret_cast<std::uintptr_t>(values) % alignof(double) == 0) {
        const auto* const doubles = static_cast<const double*>(values);
        for (std::size_t at = 0; at < count;) {
            const std::size_t some = std::min(kRun, count - at);
            add_doubles(kernels, doubles + at, some, skipped);
            at += some;
            // Values of very different exponents: bins are faster than an attempt that fails.
            const std::size_t more = std::min(skipped * kRun, count - at);
            if (more != 0) add_by_bins(kernels, doubles + at, more);
            at += more;
        }
        return;
    }
    alignas(64) double chunk[kChunk];
    for (std::size_t at = 0; at < count; at += kChunk) {
        const std::size_t some = std::min(kChunk, count - at);
        widen(type, values, at, some, chunk);
        add_doubles(kernels, chunk, some, skipped);
    }
}

void ExactNumber::add_products(const ExactKernels& kernels, Type type, const void* left,
                               const void* right, std::size_t count) noexcept {
    const FloatState state;
    constexpr std::size_t kPairs = kChunk / 2;
    alignas(64) double a[kPairs];
    alignas(64) double b[kPairs];
    alignas(64) double parts[kExactParts];
    for (std::size_t at = 0; at < count; at += kPairs) {
        const std::size_t some = std::min(kPairs, count - at);
        widen(type, left, at, some, a);
        widen(type, right, at, some, b);
        std::size_t done =
            kernels.products == nullptr || some < kExactParts ? 0 : some / kExactStep * kExactStep;
        if (done != 0 && kernels.products(a, b, done, parts))
            add_parts(parts, kExactLanes);  // other lanes have errors only
        else
            done = 0;
        for (; done < some; ++done) add_product(a[done], b[done]);
    }
}

void ExactNumber::merge(const std::int64_t* other) noexcept {
    if (words_[kAdditions] + other[kAdditions] >= 2 * kAdditionsMost) pack();
    for (int i = 0; i < kDigitsMax; ++i) words_[i] += other[i];
    if (has_low(other[kInfinities])) mark(words_[kInfinities], kLow);
    if (has_high(other[kInfinities])) mark(words_[kInfinities], kHigh);
    if (has_low(other[kZeros])) mark(words_[kZeros], kLow);
    if (has_high(other[kZeros])) mark(words_[kZeros], kHigh);
    words_[kAdditions] += other[kAdditions];
    if (words_[kAdditions] >= kAdditionsMost) pack();
}

bool ExactNumber::is_special(double& result) const noexcept {
    const Specials specials{has_low(words_[kInfinities]), has_high(words_[kInfinities]),
                            has_low(words_[kZeros]) || !has_high(words_[kZeros])};
    if (specials.infinite()) result = specials.infinity();
    if (!specials.infinite() && !specials.other) result = double_of(kSignBit);
    return specials.infinite() || !specials.other;
}

double ExactNumber::rounded(const FloatFormat& format) const noexcept {
    double result;
    if (is_special(result)) return result;
    return leading_bits(words_, 1, kDigitsMax, 2 * kLeastExponent).rounded(format);
}

double ExactNumber::root() const noexcept {
    double result;
    if (is_special(result))  // of -infinity NaN; the root of -0.0 is -0.0
        return bits_of(result) == (kInfinityBits | kSignBit) ? double_of(kQuietNan) : result;
    return leading_bits(words_, 1, kDigitsMax, 2 * kLeastExponent).root();
}

}  // namespace weft::run
