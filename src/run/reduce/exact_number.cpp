// SPDX-License-Identifier: BSD-3-Clause
// exact_number.cpp - sums of arrays for programs.
#include <algorithm>
#include <cstring>

#include "run/reduce/exact_sum.hpp"

namespace weft::run {
namespace {

// Words after the digits. The first two have a count in each half; only "0 or not" matters.
constexpr int kInfinities = kDigitsMax;     ///< lower half: +infinity, upper half: -infinity
constexpr int kZeros = kDigitsMax + 1;      ///< lower half: other values, upper half: -0.0
constexpr int kAdditions = kDigitsMax + 2;  ///< n additions: digits are below n * 2^44
constexpr std::int64_t kAdditionsMax = std::int64_t{1} << 18;

bool has_low(std::int64_t word) {
    return static_cast<std::uint32_t>(word) != 0;
}
bool has_high(std::int64_t word) {
    return static_cast<std::uint64_t>(word) >> 32 != 0;
}
void mark(std::int64_t& word, bool low, bool high) {
    if (low && !has_low(word)) word += 1;
    if (high && !has_high(word)) word += std::int64_t{1} << 32;
}

// An array is added in runs: by a floating-point loop or, after a loop that lost an error, to bins.
constexpr std::size_t kRun = 8192;         ///< values of a run
constexpr std::size_t kChunk = 1024;       ///< values of a run that is converted to doubles
constexpr std::uint32_t kSkippedMax = 64;  ///< limit of consecutive runs that are added to bins
/// Shorter arrays are added one value at a time: below kLoopMin, or below kBinsMin if the loop lost
/// an error.
constexpr std::size_t kLoopMin = 2 * kExactParts;
constexpr std::size_t kBinsMin = 1024;

/// State of the addition of an array between two runs. While the loop loses errors, more and more
/// runs are added to bins without trying the loop.
struct Attempts {
    std::uint32_t skipped = 0;  ///< runs without a loop after the last loop; 0: it lost no error
    std::uint32_t left = 0;     ///< runs until the next loop
    bool has_bins = false;      ///< `bins` has values
    ExactBins bins;
};

void pack_words(std::int64_t* words) {
    move_carries(words, kDigitsMax);
    words[kAdditions] = 1;
}

void count_addition(std::int64_t* words) {
    if (++words[kAdditions] >= kAdditionsMax) pack_words(words);
}

void add_one(std::int64_t* words, double value) {
    const std::uint64_t bits = bits_of(value);
    mark(words[kZeros], bits != kSignBit, bits == kSignBit);
    if (!is_finite(bits)) {
        Specials specials;
        specials.add(bits);
        return mark(words[kInfinities], specials.positive, specials.negative);
    }
    const FiniteValue parts = split(bits);
    add_number(words, 1, parts.mantissa, parts.position - kLeastExponent, parts.negative);
    count_addition(words);
}

void add_product(std::int64_t* words, double left, double right) {
    const std::uint64_t a = bits_of(left);
    const std::uint64_t b = bits_of(right);
    if (!is_finite(a) || !is_finite(b) || left == 0 || right == 0)
        return add_one(words, left * right);
    const FiniteValue x = split(a);
    const FiniteValue y = split(b);
    const auto product = static_cast<UInt128>(x.mantissa) * y.mantissa;
    const bool negative = x.negative != y.negative;
    mark(words[kZeros], /*low=*/true, /*high=*/false);
    add_number(words, 1, static_cast<std::uint64_t>(product), x.position + y.position, negative);
    count_addition(words);
    add_number(words, 1, product >> 64, x.position + y.position + 64, negative);
    count_addition(words);
}

/// Adds the parts of a loop. Zeros count as values only among the sums of the first `values` parts;
/// other zeros are errors of exact additions.
void add_parts(std::int64_t* words, const double* parts, std::size_t values) {
    for (std::size_t i = 0; i < kExactParts; ++i) {
        const bool sums_values = i / kExactLanes % 2 == 0 && i < values;
        if (sums_values || parts[i] != 0) add_one(words, parts[i]);
    }
}

void empty_bin(std::int64_t* words, std::uint64_t index, std::uint64_t sum, std::uint64_t values) {
    const bool negative = index >= ExactBins::kCount / 2;
    const std::uint64_t exponent = index % (ExactBins::kCount / 2);
    const std::uint64_t fractions = sum - values * (index << 52);
    const bool negative_zeros = exponent == 0 && fractions == 0 && negative;
    mark(words[kZeros], !negative_zeros, negative_zeros);
    if (exponent == kInfinityBits >> 52)  // a NaN has a fraction other than 0
        return mark(words[kInfinities], !negative || fractions != 0, negative || fractions != 0);
    const std::uint64_t implicit = exponent == 0 ? 0 : values << 52;
    const int position = exponent == 0 ? 0 : static_cast<int>(exponent) - 1;
    add_number(words, 1, fractions + implicit, position - kLeastExponent, negative);
    count_addition(words);
}

void empty_bins(std::int64_t* words, ExactBins& bins) {
    for (std::uint64_t index = 0; index < ExactBins::kCount; ++index) {
        if (bins.values[index] == 0) continue;
        empty_bin(words, index, bins.sums[index], bins.values[index]);
        bins.sums[index] = 0;
        bins.values[index] = 0;
    }
}

void add_to_bins(std::int64_t* words, const ExactKernels& kernels, const double* values,
                 std::size_t count, Attempts& attempts) {
    if (!attempts.has_bins) std::memset(&attempts.bins, 0, sizeof attempts.bins);
    attempts.has_bins = true;
    for (std::size_t i = 0; i < count;) {
        i += kernels.add_to_bins(values + i, count - i, attempts.bins);
        if (attempts.bins.full) empty_bins(words, attempts.bins);
    }
}

void add_doubles(std::int64_t* words, const ExactKernels& kernels, const double* values,
                 std::size_t count, Attempts& attempts) {
    if (attempts.left != 0) {
        --attempts.left;
        return add_to_bins(words, kernels, values, count, attempts);
    }
    const std::size_t whole = count / kExactStep * kExactStep;
    alignas(64) double parts[kExactParts];
    const bool exact = whole >= kLoopMin && kernels.sum(values, whole, parts);
    if (!exact && (count >= kBinsMin || attempts.has_bins)) {
        attempts.skipped = std::min(2 * attempts.skipped + 1, kSkippedMax);
        attempts.left = attempts.skipped;
        return add_to_bins(words, kernels, values, count, attempts);
    }
    if (exact) {
        attempts.skipped = 0;
        add_parts(words, parts, kExactParts);
    }
    std::size_t done = exact ? whole : 0;
    for (; done < count; ++done) add_one(words, values[done]);
}

/// Returns true if the sum is infinite, NaN or zero without digits, and sets `result` to it.
bool is_special(const std::int64_t* words, double& result) {
    const Specials specials{has_low(words[kInfinities]), has_high(words[kInfinities]),
                            has_low(words[kZeros]) || !has_high(words[kZeros])};
    if (specials.infinite()) result = specials.infinity();
    if (!specials.infinite() && !specials.other) result = double_of(kSignBit);
    return specials.infinite() || !specials.other;
}

}  // namespace

void ExactNumber::clear() noexcept {
    std::fill_n(words_, kWords, 0);
}

void ExactNumber::pack() noexcept {
    pack_words(words_);
}

void ExactNumber::add(const ExactKernels& kernels, Type type, const void* values,
                      std::size_t count) noexcept {
    const FloatState state;
    Attempts attempts;
    alignas(64) double chunk[kChunk];
    const bool direct =
        type == Type::float64 && reinterpret_cast<std::uintptr_t>(values) % alignof(double) == 0;
    const std::size_t step = direct ? kRun : kChunk;
    for (std::size_t at = 0; at < count; at += step) {
        const std::size_t size = std::min(step, count - at);
        if (!direct) widen(type, values, at, size, chunk);
        const double* const doubles = direct ? static_cast<const double*>(values) + at : chunk;
        add_doubles(words_, kernels, doubles, size, attempts);
    }
    if (attempts.has_bins) empty_bins(words_, attempts.bins);
}

void ExactNumber::add_products(const ExactKernels& kernels, Type type, const void* left,
                               const void* right, std::size_t count) noexcept {
    const FloatState state;
    constexpr std::size_t kPairs = kChunk / 2;
    alignas(64) double a[kPairs];
    alignas(64) double b[kPairs];
    alignas(64) double parts[kExactParts];
    for (std::size_t at = 0; at < count; at += kPairs) {
        const std::size_t size = std::min(kPairs, count - at);
        widen(type, left, at, size, a);
        widen(type, right, at, size, b);
        std::size_t done =
            kernels.products == nullptr || size < kExactParts ? 0 : size / kExactStep * kExactStep;
        if (done != 0 && kernels.products(a, b, done, parts))
            add_parts(words_, parts, kExactLanes);  // other lanes have errors only
        else
            done = 0;
        for (; done < size; ++done) add_product(words_, a[done], b[done]);
    }
}

void ExactNumber::merge(const std::int64_t* other) noexcept {
    if (words_[kAdditions] + other[kAdditions] >= 2 * kAdditionsMax) pack();
    for (int i = 0; i < kDigitsMax; ++i) words_[i] += other[i];
    for (const int word : {kInfinities, kZeros})
        mark(words_[word], has_low(other[word]), has_high(other[word]));
    words_[kAdditions] += other[kAdditions];
    if (words_[kAdditions] >= kAdditionsMax) pack();
}

double ExactNumber::rounded(const FloatFormat& format) const noexcept {
    double result;
    if (is_special(words_, result)) return result;
    return leading_bits(words_, 1, kDigitsMax, 2 * kLeastExponent).rounded(format);
}

double ExactNumber::root() const noexcept {
    double result;
    if (is_special(words_, result))  // sqrt(-infinity) is NaN, sqrt(-0.0) is -0.0
        return bits_of(result) == (kInfinityBits | kSignBit) ? double_of(kQuietNan) : result;
    return leading_bits(words_, 1, kDigitsMax, 2 * kLeastExponent).root();
}

}  // namespace weft::run
