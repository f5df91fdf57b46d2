/* SPDX-License-Identifier: BSD-3-Clause */
// context_calls.c - routines on a context, and nonblocking ones without, for every type and size.
//
// Idea     Each program calls routines on a context, completes them with shmem_ctx_quiet(), and
//          compares results after a barrier. N: the type's name in routines. T: the C type.
#include "program.h"

enum { kCount = 6 };

#define VALUE(T, pe, i) ((T)((pe)*11 % 50 + (i)))

static shmem_ctx_t ctx;

static void open_context(void) {
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmem_barrier_all();
}
static void close_context(void) {
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}
static void complete(void) {
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

#define PUTS_OF_TYPE(N, T)                                                                      \
    {                                                                                           \
        static T dest[5][kCount], source[kCount];                                               \
        static uint64_t signals[2];                                                             \
        signals[0] = signals[1] = 0;                                                            \
        for (int i = 0; i < kCount; ++i) source[i] = VALUE(T, me(), i);                         \
        shmem_barrier_all();                                                                    \
        shmem_ctx_##N##_put(ctx, dest[0], source, kCount, next_pe());                           \
        shmem_ctx_##N##_put_nbi(ctx, dest[1], source, kCount, next_pe());                       \
        shmem_ctx_##N##_put_signal(ctx, dest[2], source, kCount, signals, 3, SHMEM_SIGNAL_SET,  \
                                   next_pe());                                                  \
        shmem_ctx_##N##_put_signal_nbi(ctx, dest[3], source, kCount, signals + 1, 4,            \
                                       SHMEM_SIGNAL_ADD, next_pe());                            \
        shmem_ctx_##N##_iput(ctx, dest[4], source, 2, 1, kCount / 2, next_pe());                \
        shmem_ctx_##N##_ibput(ctx, dest[4] + 1, source + 3, 2, 1, 1, 3, next_pe());             \
        complete();                                                                             \
        CHECK(signals[0] == 3 && signals[1] == 4);                                              \
        for (int row = 0; row < 4; ++row)                                                       \
            for (int i = 0; i < kCount; ++i) CHECK(dest[row][i] == VALUE(T, previous_pe(), i)); \
        for (int i = 0; i < kCount; ++i)                                                        \
            CHECK(dest[4][i] == VALUE(T, previous_pe(), i / 2 + (i % 2 != 0 ? 3 : 0)));         \
        shmem_barrier_all();                                                                    \
    }
void ctx_puts_of_types(void) {
    open_context();
    WEFT_SHMEM_RMA(PUTS_OF_TYPE)
    close_context();
}

#define GETS_OF_TYPE(N, T)                                                         \
    {                                                                              \
        static T source[kCount];                                                   \
        T got[3][kCount];                                                          \
        memset(got, 0xff, sizeof got);                                             \
        for (int i = 0; i < kCount; ++i) source[i] = VALUE(T, me(), i);            \
        shmem_barrier_all();                                                       \
        shmem_ctx_##N##_get(ctx, got[0], source, kCount, next_pe());               \
        shmem_ctx_##N##_get_nbi(ctx, got[1], source, kCount, next_pe());           \
        shmem_ctx_##N##_iget(ctx, got[2], source, 2, 1, kCount / 2, next_pe());    \
        shmem_ctx_##N##_ibget(ctx, got[2] + 1, source + 3, 2, 1, 1, 3, next_pe()); \
        complete();                                                                \
        for (int i = 0; i < kCount; ++i) {                                         \
            CHECK(got[0][i] == VALUE(T, next_pe(), i));                            \
            CHECK(got[1][i] == VALUE(T, next_pe(), i));                            \
            CHECK(got[2][i] == VALUE(T, next_pe(), i / 2 + (i % 2 != 0 ? 3 : 0))); \
        }                                                                          \
        shmem_barrier_all();                                                       \
    }
void ctx_gets_of_types(void) {
    open_context();
    WEFT_SHMEM_RMA(GETS_OF_TYPE)
    close_context();
}

static unsigned char bytes_from[kCount * 16], bytes_to[5][kCount * 16];

static int has_bytes_of(const unsigned char* bytes, int pe, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (bytes[i] != (unsigned char)(31 * pe + 7 * (int)i)) return 0;
    return 1;
}

#define PUTS_AND_GETS(N, BYTES)                                                             \
    {                                                                                       \
        static uint64_t signals[3];                                                         \
        static unsigned char got[2][kCount * 16];                                           \
        memset(bytes_to, 0, sizeof bytes_to);                                               \
        memset(got, 0, sizeof got);                                                         \
        memset(signals, 0, sizeof signals);                                                 \
        for (size_t i = 0; i < sizeof bytes_from; ++i)                                      \
            bytes_from[i] = (unsigned char)(31 * me() + 7 * (int)i);                        \
        shmem_barrier_all();                                                                \
        shmem_ctx_put##N(ctx, bytes_to[0], bytes_from, kCount, next_pe());                  \
        shmem_ctx_put##N##_nbi(ctx, bytes_to[1], bytes_from, kCount, next_pe());            \
        shmem_ctx_put##N##_signal(ctx, bytes_to[2], bytes_from, kCount, signals, 9,         \
                                  SHMEM_SIGNAL_SET, next_pe());                             \
        shmem_ctx_put##N##_signal_nbi(ctx, bytes_to[3], bytes_from, kCount, signals + 1, 8, \
                                      SHMEM_SIGNAL_SET, next_pe());                         \
        shmem_put##N##_signal_nbi(bytes_to[4], bytes_from, kCount, signals + 2, 7,          \
                                  SHMEM_SIGNAL_SET, next_pe());                             \
        shmem_ctx_get##N(ctx, got[0], bytes_from, kCount, next_pe());                       \
        shmem_ctx_get##N##_nbi(ctx, got[1], bytes_from, kCount, next_pe());                 \
        shmem_quiet();                                                                      \
        complete();                                                                         \
        CHECK(signals[0] == 9 && signals[1] == 8 && signals[2] == 7);                       \
        for (int row = 0; row < 5; ++row)                                                   \
            CHECK(has_bytes_of(bytes_to[row], previous_pe(), kCount*(size_t)(BYTES)));      \
        for (int row = 0; row < 2; ++row)                                                   \
            CHECK(has_bytes_of(got[row], next_pe(), kCount*(size_t)(BYTES)));               \
        shmem_barrier_all();                                                                \
    }
// Transfers even elements by iput and iget, odd elements by ibput and ibget.
#define STRIDED_PUTS_AND_GETS(N, BYTES)                                                          \
    {                                                                                            \
        static unsigned char got[kCount * 16];                                                   \
        enum { kHalf = kCount / 2 };                                                             \
        memset(got, 0, sizeof got);                                                              \
        memset(bytes_to, 0, sizeof bytes_to);                                                    \
        shmem_barrier_all();                                                                     \
        shmem_ctx_iput##N(ctx, bytes_to[0], bytes_from, 2, 2, kHalf, next_pe());                 \
        shmem_ctx_ibput##N(ctx, bytes_to[0] + (BYTES), bytes_from + (BYTES), 2, 2, 1, kHalf,     \
                           next_pe());                                                           \
        shmem_ctx_iget##N(ctx, got, bytes_from, 2, 2, kHalf, next_pe());                         \
        shmem_ctx_ibget##N(ctx, got + (BYTES), bytes_from + (BYTES), 2, 2, 1, kHalf, next_pe()); \
        complete();                                                                              \
        CHECK(has_bytes_of(bytes_to[0], previous_pe(), kCount*(size_t)(BYTES)));                 \
        CHECK(has_bytes_of(got, next_pe(), kCount*(size_t)(BYTES)));                             \
        shmem_barrier_all();                                                                     \
    }
void ctx_transfers_of_sizes(void) {
    open_context();
    WEFT_SHMEM_SIZES(PUTS_AND_GETS)
    PUTS_AND_GETS(mem, 1)
    WEFT_SHMEM_SIZES(STRIDED_PUTS_AND_GETS)
    static uint64_t words[2];
    shmem_ctx_signal_set(ctx, words, 5, next_pe());
    shmem_ctx_signal_add(ctx, words + 1, 6, next_pe());
    complete();
    CHECK(words[0] == 5 && words[1] == 6);
    close_context();
}

// Each PE changes a word of PE 0 that no other PE changes (up to 64 PEs), so it knows all values.
#define EXTENDED_ATOMICS(N, T)                                      \
    {                                                               \
        static T words[64];                                         \
        T* const word = words + me() % 64;                          \
        T fetched = 0, swapped = 0, default_swapped = 0;            \
        shmem_ctx_##N##_atomic_set(ctx, word, 7, 0);                \
        shmem_ctx_quiet(ctx);                                       \
        CHECK(shmem_ctx_##N##_atomic_swap(ctx, word, 8, 0) == 7);   \
        shmem_ctx_##N##_atomic_fetch_nbi(ctx, &fetched, word, 0);   \
        shmem_ctx_quiet(ctx);                                       \
        shmem_ctx_##N##_atomic_swap_nbi(ctx, &swapped, word, 9, 0); \
        shmem_ctx_quiet(ctx);                                       \
        CHECK(fetched == 8 && swapped == 8);                        \
        CHECK(shmem_ctx_##N##_atomic_fetch(ctx, word, 0) == 9);     \
        shmem_##N##_atomic_fetch_nbi(&fetched, word, 0);            \
        shmem_quiet();                                              \
        shmem_##N##_atomic_swap_nbi(&default_swapped, word, 10, 0); \
        shmem_quiet();                                              \
        CHECK(fetched == 9 && default_swapped == 9);                \
    }
#define INTEGER_ATOMICS(N, T)                                                 \
    {                                                                         \
        static T words[64];                                                   \
        T* const word = words + me() % 64;                                    \
        T fetched[4] = {0};                                                   \
        CHECK(shmem_ctx_##N##_atomic_compare_swap(ctx, word, 0, 5, 0) == 0);  \
        shmem_ctx_##N##_atomic_compare_swap_nbi(ctx, fetched, word, 5, 6, 0); \
        shmem_ctx_quiet(ctx);                                                 \
        shmem_##N##_atomic_compare_swap_nbi(fetched + 1, word, 5, 9, 0);      \
        shmem_quiet();                                                        \
        CHECK(fetched[0] == 5 && fetched[1] == 6);                            \
        CHECK(shmem_ctx_##N##_atomic_fetch_inc(ctx, word, 0) == 6);           \
        shmem_ctx_##N##_atomic_fetch_inc_nbi(ctx, fetched + 2, word, 0);      \
        shmem_ctx_quiet(ctx);                                                 \
        CHECK(shmem_ctx_##N##_atomic_fetch_add(ctx, word, 10, 0) == 8);       \
        shmem_ctx_##N##_atomic_fetch_add_nbi(ctx, fetched + 3, word, 2, 0);   \
        shmem_ctx_##N##_atomic_inc(ctx, word, 0);                             \
        shmem_ctx_##N##_atomic_add(ctx, word, 4, 0);                          \
        shmem_ctx_quiet(ctx);                                                 \
        CHECK(fetched[2] == 7 && fetched[3] == 18);                           \
        CHECK(shmem_ctx_##N##_atomic_fetch(ctx, word, 0) == 25);              \
    }
#define BITWISE_ATOMICS(N, T)                                                \
    {                                                                        \
        static T words[64];                                                  \
        T* const word = words + me() % 64;                                   \
        T fetched[3] = {0};                                                  \
        shmem_ctx_##N##_atomic_or(ctx, word, 12, 0);                         \
        shmem_ctx_quiet(ctx);                                                \
        CHECK(shmem_ctx_##N##_atomic_fetch_or(ctx, word, 3, 0) == 12);       \
        shmem_ctx_##N##_atomic_and(ctx, word, 14, 0);                        \
        shmem_ctx_quiet(ctx);                                                \
        CHECK(shmem_ctx_##N##_atomic_fetch_and(ctx, word, 6, 0) == 14);      \
        shmem_ctx_##N##_atomic_xor(ctx, word, 5, 0);                         \
        shmem_ctx_quiet(ctx);                                                \
        CHECK(shmem_ctx_##N##_atomic_fetch_xor(ctx, word, 1, 0) == 3);       \
        shmem_ctx_##N##_atomic_fetch_or_nbi(ctx, fetched, word, 8, 0);       \
        shmem_ctx_##N##_atomic_fetch_and_nbi(ctx, fetched + 1, word, 9, 0);  \
        shmem_ctx_##N##_atomic_fetch_xor_nbi(ctx, fetched + 2, word, 15, 0); \
        shmem_ctx_quiet(ctx);                                                \
        CHECK(fetched[0] == 2 && fetched[1] == 10 && fetched[2] == 8);       \
        CHECK(shmem_ctx_##N##_atomic_fetch(ctx, word, 0) == 7);              \
    }
void ctx_atomics_of_types(void) {
    open_context();
    WEFT_SHMEM_AMO_EXTENDED(EXTENDED_ATOMICS)
    WEFT_SHMEM_AMO(INTEGER_ATOMICS)
    WEFT_SHMEM_AMO_BITWISE(BITWISE_ATOMICS)
    close_context();
}
