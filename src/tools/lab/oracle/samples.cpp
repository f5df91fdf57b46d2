// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lab/oracle/samples.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

#include "base/check.hpp"
#include "base/random.hpp"
#include "weft/elements.hpp"

namespace weft::oracle {

namespace {

/// Map x -> factor * x + shift, modulo 2^64.
struct Affine {
    std::uint64_t factor, shift;
    friend bool operator==(const Affine&, const Affine&) = default;
};
struct Triple {  // element of triple_samples(); toggled: exclusive or
    std::uint32_t sum, maximum, toggled;
    friend bool operator==(const Triple&, const Triple&) = default;
};

/// Types with few bits of precision.
template <class T>
constexpr bool kIsNarrow = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
constexpr bool kIsPair = requires(T pair) {
    pair.index;
};

/// Random data of one element.
struct Draw {
    std::uint64_t bits;  ///< different on each rank; if kIsInvertible, equal on ranks 2k and 2k + 1
    bool may_be_zero;    ///< equal on all ranks
    bool inverse;        ///< differs between ranks 2k and 2k + 1
};

/// Returns 1, 2 or 4 (complex: 1, i or 1 + i), or the inverse. The product of the values of ranks
/// 2k and 2k + 1 is 1, so the product over all ranks stays exact.
template <class T>
T invertible(Draw draw) {
    const std::uint64_t which = draw.bits % 3;
    if constexpr (std::is_floating_point_v<T>) {
        if (draw.may_be_zero && draw.bits >> 60 == 0) return T(0);
        constexpr std::array<T, 3> kValues = {T(1), T(2), T(4)};
        return draw.inverse ? 1 / kValues[which] : kValues[which];
    } else {
        constexpr std::array<T, 3> kValues = {T(1, 0), T(0, 1), T(1, 1)};
        constexpr std::array<T, 3> kInverses = {T(1, 0), T(0, -1), T(0.5, -0.5)};
        return draw.inverse ? kInverses[which] : kValues[which];
    }
}

/// Types whose samples have inverses, which keep products exact; see invertible().
template <class T>
constexpr bool kIsInvertible =
    std::is_floating_point_v<T> || std::is_same_v<T, std::complex<float>> ||
    std::is_same_v<T, std::complex<double>>;

template <class T>
T value_of(Draw draw) {
    const std::uint64_t bits = draw.bits;
    if constexpr (kIsInvertible<T>) {
        return invertible<T>(draw);
    } else if constexpr (std::is_same_v<T, Affine>) {
        return {bits | 1, base::mix(bits)};
    } else if constexpr (std::is_same_v<T, Triple>) {
        return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 16),
                static_cast<std::uint32_t>(bits >> 32)};
    } else if constexpr (std::is_same_v<T, bool>) {
        return bits % 2 == 1;
    } else if constexpr (kIsNarrow<T>) {
        return T(draw.may_be_zero && bits >> 60 == 0 ? 0.0F : bits % 3 == 0 ? 2.0F : 1.0F);
    } else if constexpr (kIsPair<T>) {
        T pair;
        pair.value = static_cast<decltype(pair.value)>(bits % 3);
        pair.index = static_cast<decltype(pair.index)>((bits >> 8) % 11);
        return pair;
    } else {
        if (!draw.may_be_zero) return static_cast<T>(bits | 1);
        return bits >> 60 == 0 ? T(0) : static_cast<T>(bits);
    }
}

template <class T>
T fold_logical(Op op, bool a, bool b) {
    const bool truth = op == Op::land ? a && b : op == Op::lor ? a || b : a != b;
    if constexpr (kIsNarrow<T>)
        return T(truth ? 1.0F : 0.0F);
    else
        return static_cast<T>(truth);
}

template <class T>
T fold_integers(Op op, T a, T b) {
    using Wide = std::uint64_t;  // its low bits wrap like the narrow type
    if (op == Op::sum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    if (op == Op::prod) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    if (op == Op::band) return static_cast<T>(a & b);
    if (op == Op::bor) return static_cast<T>(a | b);
    if (op == Op::bxor) return static_cast<T>(a ^ b);
    if (op == Op::min) return std::min(a, b);
    if (op == Op::max) return std::max(a, b);
    return fold_logical<T>(op, a != 0, b != 0);
}

template <class T>
T fold_floating(Op op, T a, T b) {
    if (op == Op::sum || op == Op::exact_sum) return a + b;  // samples have exact sums
    if (op == Op::prod) return a * b;
    if (op == Op::min) return std::min(a, b);
    if (op == Op::max) return std::max(a, b);
    return fold_logical<T>(op, a != 0, b != 0);
}

/// Returns a (op) b.
template <class T>
T fold_two(Op op, T a, T b) {
    if constexpr (std::is_same_v<T, Affine>) {  // a is applied first
        return {b.factor * a.factor, b.factor * a.shift + b.shift};
    } else if constexpr (std::is_same_v<T, Triple>) {
        return {a.sum + b.sum, std::max(a.maximum, b.maximum), a.toggled ^ b.toggled};
    } else if constexpr (std::is_same_v<T, bool>) {
        if (op == Op::band) return a && b;
        if (op == Op::bor) return a || b;
        return fold_logical<T>(op, a, b);
    } else if constexpr (std::is_integral_v<T>) {
        return fold_integers(op, a, b);
    } else if constexpr (std::is_floating_point_v<T>) {
        return fold_floating(op, a, b);
    } else if constexpr (kIsNarrow<T>) {
        return T(fold_floating(op, static_cast<float>(a), static_cast<float>(b)));
    } else if constexpr (kIsPair<T>) {
        if (a.value == b.value) return a.index < b.index ? a : b;
        return (a.value < b.value) == (op == Op::minloc) ? a : b;
    } else {
        return op == Op::prod ? a * b : a + b;
    }
}

template <class T>
T element_at(const void* from, std::size_t index) {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(from) + index * sizeof value, sizeof value);
    return value;
}

/// Writes a number; unused bytes of a long double are 0.
template <class T>
void put_number(std::byte* to, T value) {
    constexpr bool kExtended =
        std::is_same_v<T, long double> && std::numeric_limits<T>::digits == 64;
    constexpr std::size_t kUsed = kExtended ? 10 : sizeof value;
    std::memcpy(to, &value, kUsed);
    std::memset(to + kUsed, 0, sizeof value - kUsed);
}

/// Writes an element; of a pair only value and index, without padding.
template <class T>
void put_element(void* to, std::size_t index, const T& value) {
    std::byte* const at = static_cast<std::byte*>(to) + index * sizeof value;
    if constexpr (kIsPair<T>) {
        put_number(at, value.value);
        put_number(at + std::max(sizeof value.value, alignof(decltype(value.index))), value.index);
    } else {
        put_number(at, value);
    }
}

template <class T>
void write_range(std::byte* to, const SampleRange& range) {
    const std::uint64_t unit = base::mix((range.batch + 1) * 0x9e3779b97f4a7c15U + range.unit);
    const auto rank = static_cast<std::uint64_t>(kIsInvertible<T> ? range.rank / 2 : range.rank);
    for (std::size_t i = 0; i < range.count; ++i) {
        const std::uint64_t position = base::mix(unit + range.first + i);
        const std::uint64_t bits = base::mix(position + rank);
        const bool inverse = (bits >> 32 & 1U) != static_cast<std::uint64_t>(range.rank % 2);
        put_element(to, i, value_of<T>({bits, position % 2 == 0, inverse}));
    }
}

template <class T>
bool all_equal(const std::byte* left, const std::byte* right, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const T a = element_at<T>(left, i);
        const T b = element_at<T>(right, i);
        if constexpr (kIsNarrow<T>) {
            if (a.bits != b.bits) return false;
        } else {
            if (!(a == b)) return false;
        }
    }
    return true;
}

template <class T>
void fold_range(Op op, std::byte* into, const std::byte* other, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        put_element(into, i, fold_two<T>(op, element_at<T>(into, i), element_at<T>(other, i)));
}

template <class T>
void combine_range(const void* in, void* inout, std::size_t count, void*) {
    for (std::size_t i = 0; i < count; ++i)
        put_element(inout, i, fold_two<T>(Op::user, element_at<T>(in, i), element_at<T>(inout, i)));
}

template <class T>
constexpr Samples kSamplesOf{detail::TypeOf<T>::kType, sizeof(T),     &write_range<T>,
                             &fold_range<T>,           &all_equal<T>, &combine_range<T>};

/// Element types in the order of Type's values; in_order() checks this.
using Elements =
    std::tuple<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
               std::uint32_t, std::uint64_t, float, double, long double, std::complex<float>,
               std::complex<double>, bool, Float16, BFloat16, ValueIndex<float>, ValueIndex<double>,
               ValueIndex<std::int16_t>, ValueIndex<std::int32_t>, ValueIndex<std::int64_t>,
               ValueIndex<long double>, ValueIndex<double, std::int64_t>,
               ValueIndex<std::int64_t, std::int64_t>>;

template <class... T>
constexpr std::array<const Samples*, sizeof...(T)> samples_of_all(std::tuple<T...>*) {
    return {&kSamplesOf<T>...};
}
constexpr std::array<const Samples*, kBuiltinTypes> kSamples =
    samples_of_all(static_cast<Elements*>(nullptr));

constexpr bool in_order() {
    for (std::size_t i = 0; i < kSamples.size(); ++i)
        if (static_cast<std::size_t>(kSamples[i]->type) != i ||
            kSamples[i]->bytes > kSampleBytesMax)
            return false;
    return true;
}
static_assert(in_order());

}  // namespace

const Samples& samples_of(Type type) {
    const auto at = static_cast<std::size_t>(type);
    WEFT_CHECK(at < kSamples.size(), at);
    return *kSamples[at];
}

bool has_operation(Type type, Op op) {
    const bool arithmetic = op == Op::sum || op == Op::prod;
    const bool located = op == Op::minloc || op == Op::maxloc;
    const bool bitwise = op == Op::band || op == Op::bor || op == Op::bxor;
    const bool logical = op == Op::land || op == Op::lor || op == Op::lxor;
    if (type >= Type::float_int) return located;
    if (op == Op::exact_sum)
        return type >= Type::float32 && type != Type::longdouble && type != Type::boolean;
    if (type == Type::cfloat || type == Type::cdouble) return arithmetic;
    if (type == Type::boolean) return logical || bitwise;
    return !located && op != Op::user && (!bitwise || type <= Type::uint64);
}

const Samples& affine_samples() {
    return kSamplesOf<Affine>;
}

const Samples& triple_samples() {
    return kSamplesOf<Triple>;
}

}  // namespace weft::oracle
