// SPDX-License-Identifier: BSD-3-Clause
// kernels.cpp - reduction loops, compiled for each instruction set from this single source.
//
// Idea     A single loop template applies an operation to elements, and the compiler vectorises it.
//          CMakeLists.txt compiles this file for each instruction set, with another -march and
//          WEFT_KERNEL_LEVEL: 3 and 4 for x86-64-v3 and v4, 0 for the baseline.
// Why      All code is in an unnamed namespace and calls no library function. So code for older
//          processors cannot be linked to a function that was compiled for newer processors.
// Holds    docs/decisions/0008-elements-and-operations.md defines the bits of results. Integers
//          wrap. A floating-point sum or product is a single IEEE operation with the operands in
//          the order left, right. Logical operations treat x != 0 as true, so a NaN is true. If
//          both operands are NaN, the processor chooses the payload, except for 16 bits.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "run/reduce/exact_kernels.hpp"
#include "run/reduce/kernel_elements.hpp"
#include "run/reduce/kernel_table.hpp"

namespace weft::run {
namespace {  // one copy per instruction set: see above

/// Unsigned type that is not promoted to int, whose overflow would be undefined.
template <class T>
using Wrapping = std::common_type_t<unsigned, std::make_unsigned_t<T>>;

using Plus = decltype([](auto left, auto right) { return left + right; });
using Times = decltype([](auto left, auto right) { return left * right; });
using And = decltype([](auto left, auto right) { return left & right; });
using Or = decltype([](auto left, auto right) { return left | right; });
using Xor = decltype([](auto left, auto right) { return left ^ right; });

template <class Operation>
struct Arithmetic {
    template <class T>
    requires std::is_arithmetic_v<T>
    static T apply(T left, T right) noexcept {
        if constexpr (std::is_floating_point_v<T>) {
            return Operation()(left, right);
        } else {
            using W = Wrapping<T>;
            return static_cast<T>(Operation()(static_cast<W>(left), static_cast<W>(right)));
        }
    }
    template <Float16Bits T>
    static T apply(T left, T right) noexcept {
        return narrow<T>(Operation()(widen(left), widen(right)));
    }
};

struct Sum : Arithmetic<Plus> {
    using Arithmetic<Plus>::apply;
    template <class T>
    static Complex<T> apply(Complex<T> left, Complex<T> right) noexcept {
        return {left.real + right.real, left.imaginary + right.imaginary};
    }
};

struct Prod : Arithmetic<Times> {
    using Arithmetic<Times>::apply;
    template <class T>
    static Complex<T> apply(Complex<T> left, Complex<T> right) noexcept {
        return {left.real * right.real - left.imaginary * right.imaginary,
                left.real * right.imaginary + left.imaginary * right.real};
    }
};

// Equal operands differ at most in the sign of a zero: "or" of their bits gives -0.0, the minimum,
// and "and" gives +0.0. No comparison branches, so the compiler can vectorise the loop.
template <bool kMinimum, class T>
T float_extreme(T left, T right) noexcept {
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const Word left_word = __builtin_bit_cast(Word, left);
    const Word right_word = __builtin_bit_cast(Word, right);
    const Word equal_word = kMinimum ? left_word | right_word : left_word & right_word;
    const bool take_left = kMinimum ? left < right : left > right;
    const T other = left == right ? __builtin_bit_cast(T, equal_word) : right;
    const T ordered = take_left ? left : other;
    return __builtin_isunordered(left, right) ? static_cast<T>(__builtin_nanf("")) : ordered;
}

/// Compares with branches: the padding of a long double prevents operations on its bits.
template <bool kMinimum>
long double float_extreme(long double left, long double right) noexcept {
    if (__builtin_isunordered(left, right)) return __builtin_nanl("");
    if (left == right) return (__builtin_signbit(left) != 0) == kMinimum ? left : right;
    return (left < right) == kMinimum ? left : right;
}

template <bool kMinimum, Float16Bits T>
T float_extreme(T left, T right) noexcept {
    const bool right_is_less = order_of(right) < order_of(left);
    const std::uint16_t ordered = right_is_less == kMinimum ? right.bits : left.bits;
    return {(is_nan(left) | is_nan(right)) ? T::kQuietNan : ordered};
}

template <bool kMinimum>
struct Extreme {
    template <class T>
    requires(std::is_arithmetic_v<T> || Float16Bits<T>) static T apply(T left, T right) noexcept {
        if constexpr (!std::is_integral_v<T>)
            return float_extreme<kMinimum>(left, right);
        else
            return (kMinimum ? right < left : left < right) ? right : left;
    }
};

/// Returns true if `value` is preferred to `other`. -0.0 is less than +0.0.
template <bool kMinimum, class T>
bool comes_before(T value, T other) noexcept {
    const bool before = kMinimum ? value < other : value > other;
    if constexpr (std::is_integral_v<T>) {
        return before;
    } else {
        const T negative = kMinimum ? value : other;
        const T positive = kMinimum ? other : value;
        return before | ((value == other) & (__builtin_signbit(negative) != 0) &
                         (__builtin_signbit(positive) == 0));
    }
}

template <bool kMinimum>
struct LocatedExtreme {
    template <ValueAndIndex T>
    static T apply(const T& left, const T& right) noexcept {
        using V = typename T::Value;
        const bool left_nan = left.value != left.value;
        const bool right_nan = right.value != right.value;
        const bool left_first = comes_before<kMinimum>(left.value, right.value) | left_nan;
        const bool right_first = comes_before<kMinimum>(right.value, left.value) | right_nan;
        // Neither value is first, or both are (two NaNs): the values count as equal.
        const bool take_left = left_first != right_first ? left_first : left.index <= right.index;
        T result = take_left ? left : right;
        if constexpr (std::is_floating_point_v<V>)
            if (left_nan | right_nan) result.value = static_cast<V>(__builtin_nanf(""));
        return result;
    }
};

template <class T>
concept HasTruth = std::is_arithmetic_v<T> || Float16Bits<T>;

template <HasTruth T>
bool truth_of(T value) noexcept {
    if constexpr (Float16Bits<T>)
        return (value.bits & kMagnitude16) != 0;
    else
        return value != T{0};
}

template <HasTruth T>
T as_element(bool truth) noexcept {
    if constexpr (Float16Bits<T>)
        return {truth ? T::kOne : std::uint16_t{0}};
    else
        return truth ? T{1} : T{0};
}

template <class Operation>
struct Logical {
    template <HasTruth T>
    static T apply(T left, T right) noexcept {
        return as_element<T>(Operation()(truth_of(left), truth_of(right)));
    }
};

template <class Operation>
struct Bitwise {
    template <class T>
    requires std::is_integral_v<T>
    static T apply(T left, T right) noexcept { return static_cast<T>(Operation()(left, right)); }
};

// --- hand-written loops for AVX2 and F16C --------------------------------------------------------
//
// A loop combines a register of elements at a time. A shorter remainder is first copied to a buffer
// of that size. Results have the bits of the loop below. For binary16, the processor has conversion
// instructions. For products of complex numbers, GCC 12.2 (-O3 -march=x86-64-v3) compiles the loop
// below to fused multiply-add-subtract although contraction is off (tests/unit/reduce detects it).

#if defined(__F16C__) && defined(__AVX2__)
#define WEFT_HAS_AVX2_KERNELS 1
/// Hand-written operation on a register. Empty for other types and operations.
template <class T, class Operation>
struct Wide {};

/// Rounds eight floats to binary16. Any NaN becomes kQuietNan.
inline __m128i rounded_binary16(__m256 result) noexcept {
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(result, result, _CMP_UNORD_Q));
    const __m128i nan_halves =
        _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    const __m128i halves = _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT);
    return _mm_blendv_epi8(halves, _mm_set1_epi16(Binary16::kQuietNan), nan_halves);
}

template <class Operation>
requires(std::is_same_v<Operation, Sum> ||
         std::is_same_v<Operation, Prod>) struct Wide<Binary16, Operation> {
    using Register = __m128i;
    static __m128i combine(__m128i left, __m128i right) noexcept {
        const __m256 x = _mm256_cvtph_ps(left), y = _mm256_cvtph_ps(right);
        return rounded_binary16(std::is_same_v<Operation, Sum> ? x + y : x * y);
    }
};

/// Multiplies (a, b) and (c, d), real and imaginary part: (ac - bd, ad + bc).
template <>
struct Wide<Complex<float>, Prod> {
    using Register = __m256;
    static __m256 combine(__m256 left, __m256 right) noexcept {
        const __m256 by_real = _mm256_mul_ps(_mm256_moveldup_ps(left), right);
        const __m256 by_imaginary =
            _mm256_mul_ps(_mm256_movehdup_ps(left), _mm256_permute_ps(right, 0b10'11'00'01));
        return _mm256_addsub_ps(by_real, by_imaginary);
    }
};

template <>
struct Wide<Complex<double>, Prod> {
    using Register = __m256d;
    static __m256d combine(__m256d left, __m256d right) noexcept {
        const __m256d by_real = _mm256_mul_pd(_mm256_movedup_pd(left), right);
        const __m256d by_imaginary =
            _mm256_mul_pd(_mm256_permute_pd(left, 0b1111), _mm256_permute_pd(right, 0b0101));
        return _mm256_addsub_pd(by_real, by_imaginary);
    }
};

template <class WideOperation>
void reduce_wide(unsigned char* to, const unsigned char* left, const unsigned char* right,
                 std::size_t bytes) noexcept {
    using Register = typename WideOperation::Register;
    constexpr std::size_t kStep = sizeof(Register);
    const auto combine = [](unsigned char* into, const unsigned char* a, const unsigned char* b) {
        Register x;
        Register y;
        __builtin_memcpy(&x, a, kStep);
        __builtin_memcpy(&y, b, kStep);
        const Register result = WideOperation::combine(x, y);
        __builtin_memcpy(into, &result, kStep);
    };
    std::size_t at = 0;
    for (; at + kStep <= bytes; at += kStep) combine(to + at, left + at, right + at);
    if (at == bytes) return;
    unsigned char rest[2][kStep] = {};
    __builtin_memcpy(rest[0], left + at, bytes - at);
    __builtin_memcpy(rest[1], right + at, bytes - at);
    combine(rest[0], rest[0], rest[1]);
    __builtin_memcpy(to + at, rest[0], bytes - at);
}
#endif

// --- loops ---------------------------------------------------------------------------------------

template <class T, class Operation>
void reduce(void* target, const void* left, const void* right, std::size_t count) noexcept {
    auto* const to = static_cast<unsigned char*>(target);
    const auto* const from_left = static_cast<const unsigned char*>(left);
    const auto* const from_right = static_cast<const unsigned char*>(right);
#if defined(WEFT_HAS_AVX2_KERNELS)
    if constexpr (requires { Wide<T, Operation>::combine; })
        return reduce_wide<Wide<T, Operation>>(to, from_left, from_right, count * sizeof(T));
#endif
    const auto combine = [&](std::size_t at) {
        store<T>(to + at, Operation::apply(load<T>(from_left + at), load<T>(from_right + at)));
    };
    if (count == 1) return combine(0);  // avoids the setup of the vectorised loop
        // Buffers are equal or disjoint, so no iteration reads the result of another iteration.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::size_t i = 0; i < count; ++i) combine(i * sizeof(T));
}

// --- passes --------------------------------------------------------------------------------------
//
// A pass sums any number of operands, and stores the sum to any number of targets. It loads a block
// of a few registers from the first operand, adds the blocks of the other operands, and stores the
// sum to each target. With a single operand, it copies. The result has the bits of repeated calls
// of the two-operand kernel, from left to right. Kernels for each number of operands and targets
// are not faster, and many times larger (perf/micro/reduce_passes.cpp). Other operations do not
// justify the code size.

#if defined(__AVX512F__)
constexpr std::size_t kRegisterBytes = 64;
constexpr std::size_t kBlockRegisters = 4;
#elif defined(__AVX2__)
constexpr std::size_t kRegisterBytes = 32;
constexpr std::size_t kBlockRegisters = 8;
#else
constexpr std::size_t kRegisterBytes = 16;
constexpr std::size_t kBlockRegisters = 8;
#endif
constexpr std::size_t kBlockBytes = kBlockRegisters * kRegisterBytes;
static_assert(kBlockBytes % kStreamAlignment == 0 && kPassBytes % kBlockBytes == 0);

template <class T>
struct RegisterOf {
    using Packed [[gnu::vector_size(kRegisterBytes)]] = T;
};

template <class Packed>
Packed load_register(const std::byte* from) noexcept {
    Packed value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

/// Stores a register past the caches. `to` is aligned to a register.
template <class Packed>
void stream(std::byte* to, Packed value) noexcept {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), __builtin_bit_cast(__m512i, value));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), __builtin_bit_cast(__m256i, value));
#elif defined(__x86_64__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), __builtin_bit_cast(__m128i, value));
#else
    __builtin_memcpy(to, &value, sizeof value);
#endif
}

/// Sums a block at offset `at` of each operand. `kStream`: stores bypass the caches.
template <class T, bool kStream>
[[gnu::always_inline]] inline void sum_block(const ReducePass& pass, std::size_t at) noexcept {
    using Packed = typename RegisterOf<T>::Packed;
    Packed sum[kBlockRegisters];
    for (std::size_t r = 0; r < kBlockRegisters; ++r)
        sum[r] = load_register<Packed>(pass.operands[0] + at + r * kRegisterBytes);
    for (std::size_t k = 1; k < pass.operand_count; ++k) {
        const std::byte* const from = pass.operands[k] + at;
        for (std::size_t r = 0; r < kBlockRegisters; ++r)
            sum[r] = sum[r] + load_register<Packed>(from + r * kRegisterBytes);
    }
    for (std::size_t k = 0; k < pass.target_count; ++k) {
        std::byte* const to = pass.targets[k] + at;
        for (std::size_t r = 0; r < kBlockRegisters; ++r) {
            if constexpr (kStream)
                stream(to + r * kRegisterBytes, sum[r]);
            else
                __builtin_memcpy(to + r * kRegisterBytes, &sum[r], kRegisterBytes);
        }
    }
}

template <class T>
void sum_pass(const ReducePass& given) noexcept {
    const ReducePass pass = given;  // a copy, so the compiler knows that stores do not change it
    if (!pass.stream) {
        for (std::size_t at = 0; at < pass.bytes; at += kBlockBytes) sum_block<T, false>(pass, at);
        return;
    }
    for (std::size_t at = 0; at < pass.bytes; at += kBlockBytes) sum_block<T, true>(pass, at);
#if defined(__x86_64__)
    _mm_sfence();  // a later release store alone is not ordered after streamed stores
#endif
}

/// Returns the function that sums a type, or nullptr if the type has none. Signed integers are
/// summed as unsigned integers, and complex numbers as their parts.
template <class T>
constexpr ReducePassFn sum_pass_of() noexcept {
    if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>)
        return sum_pass_of<decltype(T::real)>();
    else if constexpr (std::is_integral_v<T>)
        return &sum_pass<std::make_unsigned_t<T>>;
    else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
        return &sum_pass<T>;
    else
        return nullptr;
}

// --- tables --------------------------------------------------------------------------------------

/// Returns the kernel, or nullptr. Signed and unsigned integers share one unless order matters.
template <class T, class Operation>
constexpr ReduceFn kernel() noexcept {
    constexpr bool kOrdered =
        std::is_same_v<Operation, Extreme<true>> || std::is_same_v<Operation, Extreme<false>>;
    if constexpr (!requires(T x) { Operation::apply(x, x); })
        return nullptr;
    else if constexpr (std::is_integral_v<T> && !kOrdered)
        return &reduce<std::make_unsigned_t<T>, Operation>;
    else
        return &reduce<T, Operation>;
}

template <class T>
constexpr KernelRow row() noexcept {
    return {{kernel<T, Sum>(), kernel<T, Prod>(), kernel<T, Extreme<true>>(),
             kernel<T, Extreme<false>>(), kernel<T, Logical<And>>(), kernel<T, Logical<Or>>(),
             kernel<T, Logical<Xor>>(), kernel<T, Bitwise<And>>(), kernel<T, Bitwise<Or>>(),
             kernel<T, Bitwise<Xor>>(), kernel<T, LocatedExtreme<true>>(),
             kernel<T, LocatedExtreme<false>>()},
            sum_pass_of<T>()};
}
static_assert(static_cast<int>(Op::sum) == 0 && static_cast<int>(Op::prod) == 1 &&
              static_cast<int>(Op::min) == 2 && static_cast<int>(Op::max) == 3 &&
              static_cast<int>(Op::land) == 4 && static_cast<int>(Op::lor) == 5 &&
              static_cast<int>(Op::lxor) == 6 && static_cast<int>(Op::band) == 7 &&
              static_cast<int>(Op::bor) == 8 && static_cast<int>(Op::bxor) == 9 &&
              static_cast<int>(Op::minloc) == 10 && static_cast<int>(Op::maxloc) == 11);
static_assert(row<float>().operations[static_cast<int>(Op::band)] == nullptr);
static_assert(row<Complex<float>>().operations[static_cast<int>(Op::min)] == nullptr);
static_assert(row<Pair<float, int>>().operations[static_cast<int>(Op::sum)] == nullptr);

/// Returns the kernels of bool, a byte. Bitwise operations are logical: any byte but 0 is true.
constexpr KernelRow bool_row() noexcept {
    using Byte = std::uint8_t;
    constexpr ReduceFn kAnd = kernel<Byte, Logical<And>>();
    constexpr ReduceFn kOr = kernel<Byte, Logical<Or>>();
    constexpr ReduceFn kXor = kernel<Byte, Logical<Xor>>();
    return {
        {nullptr, nullptr, nullptr, nullptr, kAnd, kOr, kXor, kAnd, kOr, kXor, nullptr, nullptr},
        nullptr};
}
static_assert(sizeof(bool) == 1);

template <class T>
constexpr void set(KernelTable& table, Type type) noexcept {
    table.types[static_cast<int>(type)] = row<T>();
}

/// Returns the kernels of the types whose loops the compiler can vectorise.
constexpr KernelTable make_table(const char* name) noexcept {
    KernelTable table{name, {}, sum_pass_of<std::uint64_t>(), exact_kernels()};
    set<std::int8_t>(table, Type::int8);
    set<std::int16_t>(table, Type::int16);
    set<std::int32_t>(table, Type::int32);
    set<std::int64_t>(table, Type::int64);
    set<std::uint8_t>(table, Type::uint8);
    set<std::uint16_t>(table, Type::uint16);
    set<std::uint32_t>(table, Type::uint32);
    set<std::uint64_t>(table, Type::uint64);
    set<float>(table, Type::float32);
    set<double>(table, Type::float64);
    set<Complex<float>>(table, Type::cfloat);
    set<Complex<double>>(table, Type::cdouble);
    table.types[static_cast<int>(Type::boolean)] = bool_row();
    set<Binary16>(table, Type::float16);
    set<Brain16>(table, Type::bfloat16);
    return table;
}

#if WEFT_KERNEL_LEVEL == 0
/// Adds the kernels of long double and pairs, which wider registers do not accelerate.
constexpr KernelTable with_scalar_types(KernelTable table) noexcept {
    set<long double>(table, Type::longdouble);
    set<Pair<float, int>>(table, Type::float_int);
    set<Pair<double, int>>(table, Type::double_int);
    set<Pair<std::int16_t, int>>(table, Type::int16_int);
    set<Pair<std::int32_t, int>>(table, Type::int32_int);
    set<Pair<std::int64_t, int>>(table, Type::int64_int);
    set<Pair<long double, int>>(table, Type::longdouble_int);
    set<Pair<double, std::int64_t>>(table, Type::double_int64);
    set<Pair<std::int64_t, std::int64_t>>(table, Type::int64_int64);
    return table;
}
#endif

}  // namespace

#if WEFT_KERNEL_LEVEL == 4
constinit const KernelTable kX86V4Kernels = make_table("x86-64-v4");
#elif WEFT_KERNEL_LEVEL == 3
constinit const KernelTable kX86V3Kernels = make_table("x86-64-v3");
#elif defined(__x86_64__)
constinit const KernelTable kBaselineKernels = with_scalar_types(make_table("x86-64"));
#else
constinit const KernelTable kBaselineKernels = with_scalar_types(make_table("baseline"));
#endif

}  // namespace weft::run
