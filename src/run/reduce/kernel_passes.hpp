// SPDX-License-Identifier: BSD-3-Clause
// kernel_passes.hpp - sums of any number of operands in a single pass, stored to any number of
// targets.
//
// Idea     The kernel loads a block of a few registers from the first operand, adds the blocks of
//          the other operands, and stores the sum to each target. With a single operand, it copies.
// Why      Kernels for each number of operands and targets are not faster, and many times larger
//          (perf/micro/reduce_passes.cpp). Other operations do not justify the code size.
// Holds    The result has the bits of repeated calls of the two-operand kernel, from left to right.
//          A target may be an operand: each block is read from all operands before it is stored.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <type_traits>

#include "run/reduce/kernel_elements.hpp"
#include "run/reduce/kernel_table.hpp"

namespace weft::run {
namespace {  // one copy per instruction set: see kernels.hpp

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

}  // namespace
}  // namespace weft::run
