// SPDX-License-Identifier: BSD-3-Clause
// near.h - puts, gets and atomic operations on local peers' memory by load, store or atomic
// instructions, without a call into the library.
//
// weft_near_open() returns a view of a team's symmetric memory. The inline functions of this header
// use the view to access memory of local peers directly. For remote peers, and for arguments that
// are not valid, they call the equivalent function of core.h or onesided.h. weft_fence() and
// weft_quiet() of the team order and complete the puts of both kinds. Direct access to a local peer
// that has died reports no error (failures.h): the memory of the dead rank stays mapped.
//
// The inline functions follow the thread rules of weft.h. The structure weft_near is part of the
// binary interface: later versions add fields only at its end.
#ifndef WEFT_NEAR_H
#define WEFT_NEAR_H

#include "weft/onesided.h"

#ifdef __cplusplus
extern "C" {
#endif

/// View of a team's memory. The library owns it; programs only read it. Valid until the team ends.
typedef struct weft_near {
    weft_team* team;
    uintptr_t heap;      ///< start of this rank's symmetric memory
    uintptr_t bytes;     ///< size of the symmetric memory
    char* const* bases;  ///< by rank: start of its symmetric memory; NULL: not mapped here
    uint32_t ranks;      ///< number of members of the team
    uint32_t left;       ///< accesses until the next weft_near_drive(); 0: never
} weft_near;

/// Sets *out to the view of this team. Not collective. struct_bytes: sizeof(weft_near) in the
/// program; another size than the library's is refused.
WEFT_API weft_status weft_near_open(weft_team* team, size_t struct_bytes, weft_near** out);
/// Drives transfers in flight. The functions below call it regularly if the job needs that.
WEFT_API void weft_near_drive(weft_near* near);

/// Returns the address in this process of the peer's memory at `symmetric`, this rank's address.
/// NULL if the memory is not mapped, if `bytes` bytes do not fit, or if `symmetric` is not aligned
/// to `alignment` bytes. Counts as an access: may call weft_near_drive().
static inline void* weft_near_at(weft_near* near, const void* symmetric, size_t bytes,
                                 size_t alignment, int peer) {
    const uintptr_t offset = (uintptr_t)symmetric - near->heap;
    if ((uint32_t)peer >= near->ranks || bytes > near->bytes || offset > near->bytes - bytes ||
        (uintptr_t)symmetric % alignment != 0)
        return NULL;
    char* const base = near->bases[peer];
    if (base == NULL) return NULL;
    // Concurrent threads may lose decrements, which only delays the next drive.
    const uint32_t left = __atomic_load_n(&near->left, __ATOMIC_RELAXED);
    if (left == 1) weft_near_drive(near);
    if (left > 1) __atomic_store_n(&near->left, left - 1, __ATOMIC_RELAXED);
    return base + offset;
}

/// Defines weft_near_put_NAME() and weft_near_get_NAME(), which copy one element, like shmem_p()
/// and shmem_g() of OpenSHMEM 1.5, section 9.6. `whole`: unsigned integer of the element's size.
/// The put is a release store, so this rank's earlier reads are complete when a peer sees the
/// element. The get is an acquire load, so it is complete before later accesses.
#define WEFT_NEAR_ELEMENT(name, element, whole)                                                  \
    static inline weft_status weft_near_put_##name(weft_near* near, element* dst, element value, \
                                                   int peer) {                                   \
        void* const at = weft_near_at(near, dst, sizeof value, sizeof value, peer);              \
        whole bits;                                                                              \
        if (at == NULL) return weft_put(near->team, dst, &value, sizeof value, peer);            \
        __builtin_memcpy(&bits, &value, sizeof bits);                                            \
        __atomic_store_n((whole*)at, bits, __ATOMIC_RELEASE);                                    \
        return WEFT_OK;                                                                          \
    }                                                                                            \
    static inline weft_status weft_near_get_##name(weft_near* near, element* dst,                \
                                                   const element* src, int peer) {               \
        void* const at = weft_near_at(near, src, sizeof *src, sizeof *src, peer);                \
        if (at == NULL) return weft_get(near->team, dst, src, sizeof *src, peer);                \
        const whole bits = __atomic_load_n((const whole*)at, __ATOMIC_ACQUIRE);                  \
        __builtin_memcpy(dst, &bits, sizeof bits);                                               \
        return WEFT_OK;                                                                          \
    }

/// Defines weft_near_CALL_NAME() and weft_near_fetch_CALL_NAME(), which act as weft_atomic() with
/// `type` and `kind`, on words of the C type `word`. `builtin`: the compiler's atomic function.
#define WEFT_NEAR_CHANGE(name, word, type, call, kind, builtin)                                    \
    static inline weft_status weft_near_##call##_##name(weft_near* near, word* at, word operand,   \
                                                        int peer) {                                \
        word* const there = (word*)weft_near_at(near, at, sizeof *at, sizeof *at, peer);           \
        if (there == NULL)                                                                         \
            return weft_atomic(near->team, kind, type, at, &operand, NULL, NULL, peer);            \
        (void)builtin(there, operand, __ATOMIC_ACQ_REL);                                           \
        return WEFT_OK;                                                                            \
    }                                                                                              \
    static inline weft_status weft_near_fetch_##call##_##name(weft_near* near, word* at,           \
                                                              word operand, word* old, int peer) { \
        word* const there = (word*)weft_near_at(near, at, sizeof *at, sizeof *at, peer);           \
        if (there == NULL || old == NULL)                                                          \
            return weft_atomic(near->team, kind, type, at, &operand, NULL, old, peer);             \
        *old = builtin(there, operand, __ATOMIC_ACQ_REL);                                          \
        return WEFT_OK;                                                                            \
    }
/// Defines all functions for words of the C type `word`; `type` is its weft_type.
#define WEFT_NEAR_WORD(name, word, type)                                                           \
    WEFT_NEAR_ELEMENT(name, word, word)                                                            \
    WEFT_NEAR_CHANGE(name, word, type, add, WEFT_ATOMIC_ADD, __atomic_fetch_add)                   \
    WEFT_NEAR_CHANGE(name, word, type, and, WEFT_ATOMIC_AND, __atomic_fetch_and)                   \
    WEFT_NEAR_CHANGE(name, word, type, or, WEFT_ATOMIC_OR, __atomic_fetch_or)                      \
    WEFT_NEAR_CHANGE(name, word, type, xor, WEFT_ATOMIC_XOR, __atomic_fetch_xor)                   \
    static inline weft_status weft_near_fetch_##name(weft_near* near, const word* at, word* value, \
                                                     int peer) {                                   \
        word* const there = (word*)weft_near_at(near, at, sizeof *at, sizeof *at, peer);           \
        if (there == NULL || value == NULL)                                                        \
            return weft_atomic(near->team, WEFT_ATOMIC_FETCH, type, (void*)(uintptr_t)at, NULL,    \
                               NULL, value, peer);                                                 \
        *value = __atomic_load_n(there, __ATOMIC_ACQUIRE);                                         \
        return WEFT_OK;                                                                            \
    }                                                                                              \
    static inline weft_status weft_near_set_##name(weft_near* near, word* at, word value,          \
                                                   int peer) {                                     \
        word* const there = (word*)weft_near_at(near, at, sizeof *at, sizeof *at, peer);           \
        if (there == NULL)                                                                         \
            return weft_atomic(near->team, WEFT_ATOMIC_SET, type, at, &value, NULL, NULL, peer);   \
        __atomic_store_n(there, value, __ATOMIC_RELEASE);                                          \
        return WEFT_OK;                                                                            \
    }                                                                                              \
    static inline weft_status weft_near_swap_##name(weft_near* near, word* at, word value,         \
                                                    word* old, int peer) {                         \
        word* const there = (word*)weft_near_at(near, at, sizeof *at, sizeof *at, peer);           \
        if (there == NULL || old == NULL)                                                          \
            return weft_atomic(near->team, WEFT_ATOMIC_SET, type, at, &value, NULL, old, peer);    \
        *old = __atomic_exchange_n(there, value, __ATOMIC_ACQ_REL);                                \
        return WEFT_OK;                                                                            \
    }                                                                                              \
    static inline weft_status weft_near_compare_swap_##name(                                       \
        weft_near* near, word* at, word expected, word value, word* old, int peer) {               \
        word* const there = (word*)weft_near_at(near, at, sizeof *at, sizeof *at, peer);           \
        if (there == NULL || old == NULL)                                                          \
            return weft_atomic(near->team, WEFT_ATOMIC_COMPARE_SWAP, type, at, &value, &expected,  \
                               old, peer);                                                         \
        *old = expected;                                                                           \
        (void)__atomic_compare_exchange_n(there, old, value, 0, __ATOMIC_ACQ_REL,                  \
                                          __ATOMIC_ACQUIRE);                                       \
        return WEFT_OK;                                                                            \
    }

WEFT_NEAR_WORD(i32, int32_t, WEFT_INT32)
WEFT_NEAR_WORD(u32, uint32_t, WEFT_UINT32)
WEFT_NEAR_WORD(i64, int64_t, WEFT_INT64)
WEFT_NEAR_WORD(u64, uint64_t, WEFT_UINT64)
WEFT_NEAR_ELEMENT(i8, int8_t, uint8_t)
WEFT_NEAR_ELEMENT(u8, uint8_t, uint8_t)
WEFT_NEAR_ELEMENT(i16, int16_t, uint16_t)
WEFT_NEAR_ELEMENT(u16, uint16_t, uint16_t)
WEFT_NEAR_ELEMENT(float, float, uint32_t)
WEFT_NEAR_ELEMENT(double, double, uint64_t)

/// Act as weft_put() and weft_get(). They copy 9 to WEFT_NEAR_BYTES bytes inline. They call the
/// library for shorter data, which may be a word to be copied by one instruction.
#define WEFT_NEAR_BYTES 4096
static inline weft_status weft_near_put(weft_near* near, void* dst, const void* src, size_t bytes,
                                        int peer) {
    void* const at =
        bytes > WEFT_NEAR_BYTES || bytes <= 8 ? NULL : weft_near_at(near, dst, bytes, 1, peer);
    if (at == NULL) return weft_put(near->team, dst, src, bytes, peer);
    __builtin_memmove(at, src, bytes);
    return WEFT_OK;
}
static inline weft_status weft_near_get(weft_near* near, void* dst, const void* src, size_t bytes,
                                        int peer) {
    void* const at =
        bytes > WEFT_NEAR_BYTES || bytes <= 8 ? NULL : weft_near_at(near, src, bytes, 1, peer);
    if (at == NULL) return weft_get(near->team, dst, src, bytes, peer);
    __builtin_memmove(dst, at, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);  // keeps later accesses behind the copy
    return WEFT_OK;
}

#undef WEFT_NEAR_ELEMENT
#undef WEFT_NEAR_CHANGE
#undef WEFT_NEAR_WORD

#ifdef __cplusplus
}
#endif

#endif
