// SPDX-License-Identifier: BSD-3-Clause
// kernels_avx2.hpp - hand-written loops for instruction sets with AVX2 and F16C.
//
// Idea     A loop combines a register of elements at a time. A shorter remainder is first copied to
//          a buffer of that size.
// Why      For binary16, the processor has conversion instructions. For products of complex
//          numbers, GCC 12.2 (-O3 -march=x86-64-v3) compiles the loop of kernels.hpp to fused
//          multiply-add-subtract although contraction is off (tests/unit/reduce detects it).
// Holds    Results have the same bits as results of kernels.hpp.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "run/reduce/kernel_elements.hpp"

namespace weft::run {
namespace {  // one copy per instruction set: see kernels.hpp

struct Sum;
struct Prod;

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

template <>
struct Wide<Binary16, Sum> {
    using Register = __m128i;
    static __m128i combine(__m128i left, __m128i right) noexcept {
        return rounded_binary16(_mm256_add_ps(_mm256_cvtph_ps(left), _mm256_cvtph_ps(right)));
    }
};

template <>
struct Wide<Binary16, Prod> {
    using Register = __m128i;
    static __m128i combine(__m128i left, __m128i right) noexcept {
        return rounded_binary16(_mm256_mul_ps(_mm256_cvtph_ps(left), _mm256_cvtph_ps(right)));
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

}  // namespace
}  // namespace weft::run
