// SPDX-License-Identifier: BSD-3-Clause
// atomics.cpp - atomic operations on words of PEs.
//
// Idea     An atomic instruction of this PE changes a local peer's word; weft changes a remote one.
// Holds    weft also uses atomic instructions, on the word's node. So local and remote PEs may
//          change a word at the same time.
#include <bit>
#include <type_traits>

#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// The word that a call reads or changes.
struct Word {
    std::byte* heap = nullptr;   ///< address in the heap of this PE
    std::byte* local = nullptr;  ///< address of the peer's copy; nullptr: remote peer
    int pe = 0;                  ///< the peer, in SHMEM_TEAM_WORLD
};

Word find_word(const char* routine, shmem_ctx_t ctx, const void* address, std::size_t bytes,
               int pe) {
    Word word{.pe = world_pe(routine, ctx, pe)};
    word.heap = require_symmetric(routine, "the word", address, bytes);
    if (reinterpret_cast<std::uintptr_t>(word.heap) % bytes != 0)
        refuse(routine,
               "the word is not aligned to its size of " + std::to_string(bytes) + " bytes");
    word.local = local_copy(word.heap, word.pe);
    return word;
}

// The operations: each has weft's kind, for remote peers, and local(word, value, cond), for local
// peers, which returns the old value. T is unsigned and has the size of the program's type.
struct Fetch {
    static constexpr weft_atomic_kind kKind = WEFT_ATOMIC_FETCH;
    template <class T>
    static T local(const std::atomic_ref<T> word, T, T) {
        return word.load(std::memory_order_acquire);
    }
};
struct Swap {
    static constexpr weft_atomic_kind kKind = WEFT_ATOMIC_SET;
    template <class T>
    static T local(const std::atomic_ref<T> word, T value, T) {
        return word.exchange(value, std::memory_order_acq_rel);
    }
};
struct CompareSwap {
    static constexpr weft_atomic_kind kKind = WEFT_ATOMIC_COMPARE_SWAP;
    template <class T>
    static T local(const std::atomic_ref<T> word, T value, T cond) {
        word.compare_exchange_strong(cond, value, std::memory_order_acq_rel,
                                     std::memory_order_acquire);
        return cond;
    }
};
struct Add {
    static constexpr weft_atomic_kind kKind = WEFT_ATOMIC_ADD;
    template <class T>
    static T local(const std::atomic_ref<T> word, T value, T) {
        return word.fetch_add(value, std::memory_order_acq_rel);
    }
};
struct And {
    static constexpr weft_atomic_kind kKind = WEFT_ATOMIC_AND;
    template <class T>
    static T local(const std::atomic_ref<T> word, T value, T) {
        return word.fetch_and(value, std::memory_order_acq_rel);
    }
};
struct Or {
    static constexpr weft_atomic_kind kKind = WEFT_ATOMIC_OR;
    template <class T>
    static T local(const std::atomic_ref<T> word, T value, T) {
        return word.fetch_or(value, std::memory_order_acq_rel);
    }
};
struct Xor {
    static constexpr weft_atomic_kind kKind = WEFT_ATOMIC_XOR;
    template <class T>
    static T local(const std::atomic_ref<T> word, T value, T) {
        return word.fetch_xor(value, std::memory_order_acq_rel);
    }
};

/// Does an operation on the word of PE `pe` at `address`. Returns the old value if `wants_old`;
/// otherwise a remote PE's word may change after the return.
template <class Operation, class T>
T apply(const char* routine, shmem_ctx_t ctx, const T* address, T value, T cond, int pe,
        bool wants_old = true) {
    using B = Bits<T>;
    const Word word = find_word(routine, ctx, address, sizeof(T), pe);
    const auto value_bits = std::bit_cast<B>(value);
    const auto cond_bits = std::bit_cast<B>(cond);
    if (word.local != nullptr)
        return std::bit_cast<T>(Operation::template local<B>(
            std::atomic_ref<B>(*reinterpret_cast<B*>(word.local)), value_bits, cond_bits));
    // Unsigned types suffice: the integer operations do not depend on the sign, and Fetch and Swap,
    // the only operations on floating point, copy bits.
    constexpr weft_type kType = sizeof(B) == 8 ? WEFT_UINT64 : WEFT_UINT32;
    B old{};
    check(routine, weft_atomic(weft_context_of(ctx), Operation::kKind, kType, word.heap,
                               &value_bits, &cond_bits, wants_old ? &old : nullptr, word.pe));
    return std::bit_cast<T>(old);
}

template <class T>
T fetch(const char* routine, shmem_ctx_t ctx, const T* source, int pe) {
    return apply<Fetch, T>(routine, ctx, source, T{}, T{}, pe);
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;

// FETCHING defines a routine that returns the old value, and its _nbi form, which also blocks and
// stores the old value in *fetch. SILENT defines a routine without a result.
#define FETCHING(NAME, OPERATION, T, PARAMETERS, VALUE, COND)                                      \
    SHMEM_ROUTINE(T, NAME, (T * dest PARAMETERS, int pe)) {                                        \
        return shmem::apply<shmem::OPERATION, T>(#NAME, SHMEM_CTX_DEFAULT, dest, VALUE, COND, pe); \
    }                                                                                              \
    SHMEM_ROUTINE(T, ctx_##NAME, (shmem_ctx_t ctx, T * dest PARAMETERS, int pe)) {                 \
        return shmem::apply<shmem::OPERATION, T>("ctx_" #NAME, ctx, dest, VALUE, COND, pe);        \
    }                                                                                              \
    SHMEM_ROUTINE(void, NAME##_nbi, (T * fetch, T * dest PARAMETERS, int pe)) {                    \
        *fetch = shmem::apply<shmem::OPERATION, T>(#NAME "_nbi", SHMEM_CTX_DEFAULT, dest, VALUE,   \
                                                   COND, pe);                                      \
    }                                                                                              \
    SHMEM_ROUTINE(void, ctx_##NAME##_nbi,                                                          \
                  (shmem_ctx_t ctx, T * fetch, T * dest PARAMETERS, int pe)) {                     \
        *fetch =                                                                                   \
            shmem::apply<shmem::OPERATION, T>("ctx_" #NAME "_nbi", ctx, dest, VALUE, COND, pe);    \
    }
#define SILENT(NAME, OPERATION, T, PARAMETERS, VALUE)                                            \
    SHMEM_ROUTINE(void, NAME, (T * dest PARAMETERS, int pe)) {                                   \
        shmem::apply<shmem::OPERATION, T>(#NAME, SHMEM_CTX_DEFAULT, dest, VALUE,                 \
                                          static_cast<T>(0), pe, /*wants_old=*/false);           \
    }                                                                                            \
    SHMEM_ROUTINE(void, ctx_##NAME, (shmem_ctx_t ctx, T * dest PARAMETERS, int pe)) {            \
        shmem::apply<shmem::OPERATION, T>("ctx_" #NAME, ctx, dest, VALUE, static_cast<T>(0), pe, \
                                          /*wants_old=*/false);                                  \
    }
// PARAMETERS, between `dest` and `pe`: none, a value, or a condition and a value.
#define NONE
#define ONE(T) , T value
#define TWO(T) , T cond, T value

#define EXTENDED(N, T)                                                                     \
    SHMEM_ROUTINE(T, N##_atomic_fetch, (const T* source, int pe)) {                        \
        return shmem::fetch<T>(#N "_atomic_fetch", SHMEM_CTX_DEFAULT, source, pe);         \
    }                                                                                      \
    SHMEM_ROUTINE(T, ctx_##N##_atomic_fetch, (shmem_ctx_t ctx, const T* source, int pe)) { \
        return shmem::fetch<T>("ctx_" #N "_atomic_fetch", ctx, source, pe);                \
    }                                                                                      \
    SHMEM_ROUTINE(void, N##_atomic_fetch_nbi, (T * fetch, const T* source, int pe)) {      \
        *fetch = shmem::fetch<T>(#N "_atomic_fetch_nbi", SHMEM_CTX_DEFAULT, source, pe);   \
    }                                                                                      \
    SHMEM_ROUTINE(void, ctx_##N##_atomic_fetch_nbi,                                        \
                  (shmem_ctx_t ctx, T * fetch, const T* source, int pe)) {                 \
        *fetch = shmem::fetch<T>("ctx_" #N "_atomic_fetch_nbi", ctx, source, pe);          \
    }                                                                                      \
    FETCHING(N##_atomic_swap, Swap, T, ONE(T), value, static_cast<T>(0))                   \
    SILENT(N##_atomic_set, Swap, T, ONE(T), value)
WEFT_SHMEM_AMO_EXTENDED(EXTENDED)

#define STANDARD(N, T)                                                                 \
    FETCHING(N##_atomic_compare_swap, CompareSwap, T, TWO(T), value, cond)             \
    FETCHING(N##_atomic_fetch_inc, Add, T, NONE, static_cast<T>(1), static_cast<T>(0)) \
    SILENT(N##_atomic_inc, Add, T, NONE, static_cast<T>(1))                            \
    FETCHING(N##_atomic_fetch_add, Add, T, ONE(T), value, static_cast<T>(0))           \
    SILENT(N##_atomic_add, Add, T, ONE(T), value)
WEFT_SHMEM_AMO(STANDARD)

#define BITWISE(N, T)                                                        \
    FETCHING(N##_atomic_fetch_and, And, T, ONE(T), value, static_cast<T>(0)) \
    SILENT(N##_atomic_and, And, T, ONE(T), value)                            \
    FETCHING(N##_atomic_fetch_or, Or, T, ONE(T), value, static_cast<T>(0))   \
    SILENT(N##_atomic_or, Or, T, ONE(T), value)                              \
    FETCHING(N##_atomic_fetch_xor, Xor, T, ONE(T), value, static_cast<T>(0)) \
    SILENT(N##_atomic_xor, Xor, T, ONE(T), value)
WEFT_SHMEM_AMO_BITWISE(BITWISE)

// --- names of OpenSHMEM 1.3 ----------------------------------------------------------------------

#define OLD_EXTENDED(N, T)                                      \
    SHMEM_ROUTINE(T, N##_fetch, (const T* source, int pe)) {    \
        return pshmem_##N##_atomic_fetch(source, pe);           \
    }                                                           \
    SHMEM_ROUTINE(void, N##_set, (T * dest, T value, int pe)) { \
        pshmem_##N##_atomic_set(dest, value, pe);               \
    }                                                           \
    SHMEM_ROUTINE(T, N##_swap, (T * dest, T value, int pe)) {   \
        return pshmem_##N##_atomic_swap(dest, value, pe);       \
    }
WEFT_SHMEM_AMO_OLD_EXTENDED(OLD_EXTENDED)

#define OLD(N, T)                                                       \
    SHMEM_ROUTINE(T, N##_cswap, (T * dest, T cond, T value, int pe)) {  \
        return pshmem_##N##_atomic_compare_swap(dest, cond, value, pe); \
    }                                                                   \
    SHMEM_ROUTINE(T, N##_finc, (T * dest, int pe)) {                    \
        return pshmem_##N##_atomic_fetch_inc(dest, pe);                 \
    }                                                                   \
    SHMEM_ROUTINE(void, N##_inc, (T * dest, int pe)) {                  \
        pshmem_##N##_atomic_inc(dest, pe);                              \
    }                                                                   \
    SHMEM_ROUTINE(T, N##_fadd, (T * dest, T value, int pe)) {           \
        return pshmem_##N##_atomic_fetch_add(dest, value, pe);          \
    }                                                                   \
    SHMEM_ROUTINE(void, N##_add, (T * dest, T value, int pe)) {         \
        pshmem_##N##_atomic_add(dest, value, pe);                       \
    }
WEFT_SHMEM_AMO_OLD(OLD)

SHMEM_ROUTINE(long, swap, (long* dest, long value, int pe)) {
    return pshmem_long_atomic_swap(dest, value, pe);
}
