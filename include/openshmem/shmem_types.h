/* SPDX-License-Identifier: BSD-3-Clause */
// shmem_types.h - tables of the types for which the routines of OpenSHMEM exist; part of shmem.h.
//
// Idea     A table is a macro that expands to X(name, type) for each of its types. `name` is part
//          of the routine's name, as in shmem_<name>_put.
#ifndef WEFT_OPENSHMEM_TYPES_H
#define WEFT_OPENSHMEM_TYPES_H

#include <stddef.h>
#include <stdint.h>

// clang-format off
#define WEFT_SHMEM_INTEGERS_C(X)                                                                   \
    X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long)                  \
    X(longlong, long long) X(uchar, unsigned char) X(ushort, unsigned short)                       \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)
#define WEFT_SHMEM_INTEGERS_EXACT(X)                                                               \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t)        \
    X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)

/// Puts, gets, and collectives that move elements.
#define WEFT_SHMEM_RMA(X)                                                                          \
    X(float, float) X(double, double) X(longdouble, long double)                                   \
    WEFT_SHMEM_INTEGERS_C(X) WEFT_SHMEM_INTEGERS_EXACT(X) X(ptrdiff, ptrdiff_t)
/// Puts, gets and collectives by element size: X(bits, bytes).
#define WEFT_SHMEM_SIZES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)

/// Atomic operations: on integers (AMO), also on floating point (EXTENDED), and bitwise (BITWISE).
#define WEFT_SHMEM_AMO(X)                                                                          \
    X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int)                         \
    X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t)                     \
    X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)                      \
    X(ptrdiff, ptrdiff_t)
#define WEFT_SHMEM_AMO_EXTENDED(X) X(float, float) X(double, double) WEFT_SHMEM_AMO(X)
#define WEFT_SHMEM_AMO_BITWISE(X)                                                                  \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)                 \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
/// Atomic operations under their deprecated names of OpenSHMEM 1.3.
#define WEFT_SHMEM_AMO_OLD(X) X(int, int) X(long, long) X(longlong, long long)
#define WEFT_SHMEM_AMO_OLD_EXTENDED(X) X(float, float) X(double, double) WEFT_SHMEM_AMO_OLD(X)

/// Waits and tests.
#define WEFT_SHMEM_SYNC(X) X(short, short) X(ushort, unsigned short) WEFT_SHMEM_AMO(X)
#define WEFT_SHMEM_SYNC_OLD(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)

/// Reductions over teams. BITS: AND, OR, XOR; ORDERED: MIN, MAX; NUMBERS: SUM, PROD.
#define WEFT_SHMEM_REDUCE_BITS(X)                                                                  \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int)                        \
    X(ulong, unsigned long) X(ulonglong, unsigned long long) WEFT_SHMEM_INTEGERS_EXACT(X)
#define WEFT_SHMEM_REDUCE_ORDERED(X) WEFT_SHMEM_RMA(X)
#define WEFT_SHMEM_REDUCE_NUMBERS(X)                                                               \
    X(complexd, double _Complex) X(complexf, float _Complex) WEFT_SHMEM_RMA(X)
/// Reductions over active sets.
#define WEFT_SHMEM_TO_ALL_BITS(X) WEFT_SHMEM_SYNC_OLD(X)
#define WEFT_SHMEM_TO_ALL_ORDERED(X)                                                               \
    WEFT_SHMEM_SYNC_OLD(X) X(float, float) X(double, double) X(longdouble, long double)
#define WEFT_SHMEM_TO_ALL_NUMBERS(X)                                                               \
    X(complexd, double _Complex) X(complexf, float _Complex) WEFT_SHMEM_TO_ALL_ORDERED(X)
// clang-format on

#endif
