/* SPDX-License-Identifier: BSD-3-Clause */
// atomics.c - atomic operations in every form and type, on words of this PE and other PEs.
#include "program.h"

#define FOR_EACH_PE for (int pe = 0; pe < pes(); ++pe)

// The macros test one type: N is its name in routines, T is the C type. WEFT_SHMEM_AMO and the like
// call a macro for each type.
#define ADD_TYPE(N, T)                                                     \
    {                                                                      \
        static T sum, count, counted;                                      \
        FOR_EACH_PE {                                                      \
            shmem_##N##_atomic_add(&sum, (T)(me() + 1), pe);               \
            const T before = shmem_##N##_atomic_fetch_add(&sum, (T)2, pe); \
            CHECK(before >= (T)(me() + 1));                                \
            shmem_##N##_atomic_inc(&count, pe);                            \
            CHECK(shmem_##N##_atomic_fetch_inc(&counted, pe) < (T)pes());  \
        }                                                                  \
        shmem_barrier_all();                                               \
        CHECK(sum == (T)(pes() * (pes() + 1) / 2 + 2 * pes()));            \
        CHECK(count == (T)pes() && counted == (T)pes());                   \
        shmem_barrier_all();                                               \
        sum = count = counted = 0;                                         \
        shmem_barrier_all();                                               \
    }
void atomic_adds(void) {
    WEFT_SHMEM_AMO(ADD_TYPE)
}

// Each PE draws 8 numbers by fetch_inc from one word: all numbers are different.
#define TICKET_TYPE(N, T)                                                       \
    {                                                                           \
        static T ticket;                                                        \
        static unsigned char taken[1024]; /* for up to 128 PEs */               \
        for (int i = 0; i < 8; ++i) {                                           \
            const T mine = shmem_##N##_atomic_fetch_inc(&ticket, 0);            \
            CHECK((size_t)mine < sizeof taken);                                 \
            if ((size_t)mine < sizeof taken) shmem_uchar_p(&taken[mine], 1, 0); \
        }                                                                       \
        shmem_barrier_all();                                                    \
        if (me() == 0)                                                          \
            for (int i = 0; i < 8 * pes(); ++i) CHECK(taken[i] == 1);           \
        ticket = 0;                                                             \
        memset(taken, 0, sizeof taken);                                         \
        shmem_barrier_all();                                                    \
    }
void atomic_tickets(void) {
    WEFT_SHMEM_AMO(TICKET_TYPE)
}

#define CSWAP_TYPE(N, T)                                                                     \
    {                                                                                        \
        static T word, won;                                                                  \
        /* One PE wins; then all PEs pass the word on in order. */                           \
        const T old = shmem_##N##_atomic_compare_swap(&won, 0, (T)(me() + 1), 0);            \
        shmem_barrier_all();                                                                 \
        const T winner = shmem_##N##_g(&won, 0);                                             \
        CHECK(winner >= 1 && winner <= (T)pes() && (old == 0) == (winner == (T)(me() + 1))); \
        while (shmem_##N##_atomic_compare_swap(&word, (T)me(), (T)(me() + 1), 0) != (T)me()) \
            shmem_quiet();                                                                   \
        shmem_barrier_all();                                                                 \
        CHECK(shmem_##N##_g(&word, 0) == (T)pes());                                          \
        shmem_barrier_all();                                                                 \
        word = won = 0;                                                                      \
        shmem_barrier_all();                                                                 \
    }
void atomic_compare_swaps(void) {
    WEFT_SHMEM_AMO(CSWAP_TYPE)
}

// Each value that a swap stores is returned once or remains, so the sums agree.
#define SWAP_TYPE(N, T)                                                      \
    {                                                                        \
        static T word;                                                       \
        static long out, in, sum_out, sum_in;                                \
        out = in = 0;                                                        \
        for (int i = 0; i < 6; ++i) {                                        \
            const T mine = (T)(1 + me() + 8 * i);                            \
            in += (long)mine;                                                \
            out += (long)shmem_##N##_atomic_swap(&word, mine, 0);            \
        }                                                                    \
        shmem_barrier_all();                                                 \
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum_out, &out, 1);          \
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum_in, &in, 1);            \
        CHECK(sum_in == sum_out + (long)shmem_##N##_atomic_fetch(&word, 0)); \
        shmem_barrier_all();                                                 \
        shmem_##N##_atomic_set(&word, (T)0, me());                           \
        shmem_barrier_all();                                                 \
    }
void atomic_swaps(void) {
    WEFT_SHMEM_AMO_EXTENDED(SWAP_TYPE)
}

#define SET_TYPE(N, T)                                                                             \
    {                                                                                              \
        static T word;                                                                             \
        shmem_##N##_atomic_set(&word, (T)(me() + 5), next_pe());                                   \
        shmem_barrier_all();                                                                       \
        CHECK(word == (T)(previous_pe() + 5));                                                     \
        CHECK(shmem_##N##_atomic_fetch(&word, next_pe()) == (T)(me() + 5));                        \
        CHECK(shmem_ctx_##N##_atomic_fetch(SHMEM_CTX_DEFAULT, &word, next_pe()) == (T)(me() + 5)); \
        shmem_barrier_all();                                                                       \
        word = 0;                                                                                  \
        shmem_barrier_all();                                                                       \
    }
void atomic_sets(void) {
    WEFT_SHMEM_AMO_EXTENDED(SET_TYPE)
}

// Each PE changes its own bit of every word.
#define BIT_TYPE(N, T)                                                                 \
    {                                                                                  \
        static T ors, ands, xors, plain_xors;                                          \
        const T bit = (T)((T)1 << (me() + 3));                                         \
        const T all = (T)((((T)1 << pes()) - 1) << 3);                                 \
        ands = (T) ~(T)0;                                                              \
        ors = xors = plain_xors = 0;                                                   \
        shmem_barrier_all();                                                           \
        FOR_EACH_PE {                                                                  \
            CHECK((shmem_##N##_atomic_fetch_or(&ors, bit, pe) & bit) == 0);            \
            shmem_##N##_atomic_or(&ors, bit, pe);                                      \
            CHECK((shmem_##N##_atomic_fetch_and(&ands, (T)~bit, pe) & bit) == bit);    \
            shmem_##N##_atomic_and(&ands, (T)~bit, pe);                                \
            CHECK((shmem_##N##_atomic_fetch_xor(&xors, bit, pe) & bit) == 0);          \
            shmem_##N##_atomic_xor(&plain_xors, (T)(3 * bit), pe);                     \
        }                                                                              \
        shmem_barrier_all();                                                           \
        T expected = 0;                                                                \
        FOR_EACH_PE expected = (T)(expected ^ (T)((T)3 << (pe + 3)));                  \
        CHECK(ors == all && ands == (T)~all && xors == all && plain_xors == expected); \
        shmem_barrier_all();                                                           \
    }
void atomic_bits(void) {
    WEFT_SHMEM_AMO_BITWISE(BIT_TYPE)
}

#define NBI_TYPE(N, T)                                                                       \
    {                                                                                        \
        static T word;                                                                       \
        T got[5] = {99, 99, 99, 99, 99};                                                     \
        word = 10;                                                                           \
        shmem_barrier_all();                                                                 \
        shmem_##N##_atomic_fetch_nbi(&got[0], &word, next_pe());                             \
        shmem_quiet();                                                                       \
        shmem_##N##_atomic_fetch_add_nbi(&got[1], &word, 5, next_pe());                      \
        shmem_quiet();                                                                       \
        shmem_##N##_atomic_fetch_inc_nbi(&got[2], &word, next_pe());                         \
        shmem_quiet();                                                                       \
        shmem_##N##_atomic_swap_nbi(&got[3], &word, 40, next_pe());                          \
        shmem_quiet();                                                                       \
        shmem_ctx_##N##_atomic_compare_swap_nbi(SHMEM_CTX_DEFAULT, &got[4], &word, 40, 50,   \
                                                next_pe());                                  \
        shmem_quiet();                                                                       \
        CHECK(got[0] == 10 && got[1] == 10 && got[2] == 15 && got[3] == 16 && got[4] == 40); \
        shmem_barrier_all();                                                                 \
        CHECK(word == 50);                                                                   \
        shmem_barrier_all();                                                                 \
    }
#define NBI_BITS(N, T)                                                  \
    {                                                                   \
        static T word;                                                  \
        T got[3] = {9, 9, 9};                                           \
        word = 6;                                                       \
        shmem_barrier_all();                                            \
        shmem_##N##_atomic_fetch_and_nbi(&got[0], &word, 3, next_pe()); \
        shmem_quiet();                                                  \
        shmem_##N##_atomic_fetch_or_nbi(&got[1], &word, 8, next_pe());  \
        shmem_quiet();                                                  \
        shmem_##N##_atomic_fetch_xor_nbi(&got[2], &word, 1, next_pe()); \
        shmem_quiet();                                                  \
        CHECK(got[0] == 6 && got[1] == 2 && got[2] == 10);              \
        shmem_barrier_all();                                            \
        CHECK(word == 11);                                              \
        shmem_barrier_all();                                            \
    }
void nonblocking_atomics(void) {
    WEFT_SHMEM_AMO(NBI_TYPE)
    WEFT_SHMEM_AMO_BITWISE(NBI_BITS)
}

// Atomic operations on words of 4 bytes that share 8 bytes, and on a word that wraps, must not
// change their neighbours.
void atomic_neighbours(void) {
    static int32_t pair[4];
    static uint32_t wrapping[2];
    if (me() == 0) {
        wrapping[0] = UINT32_MAX - 2;
        wrapping[1] = 7;
        pair[1] = -1;
    }
    shmem_barrier_all();
    for (int i = 0; i < 20; ++i) {
        shmem_int32_atomic_add(&pair[me() % 2 * 2], 1, 0);
        shmem_int32_atomic_add(&pair[1], -1, 0);
        shmem_uint32_atomic_inc(&wrapping[0], 0);
    }
    shmem_barrier_all();
    if (me() == 0) {
        CHECK(pair[0] == (pes() + 1) / 2 * 20 && pair[2] == pes() / 2 * 20 && pair[3] == 0);
        CHECK(pair[1] == -1 - 20 * pes());
        CHECK(wrapping[0] == (uint32_t)(20 * pes() - 3) && wrapping[1] == 7);
    }
    shmem_barrier_all();
}

// Names of OpenSHMEM 1.3, which are deprecated.
#define OLD_TYPE(N, T)                                            \
    {                                                             \
        static T word;                                            \
        shmem_##N##_set(&word, 3, next_pe());                     \
        shmem_barrier_all();                                      \
        CHECK(shmem_##N##_fadd(&word, 4, next_pe()) == 3);        \
        CHECK(shmem_##N##_finc(&word, next_pe()) == 7);           \
        shmem_##N##_add(&word, 2, next_pe());                     \
        shmem_##N##_inc(&word, next_pe());                        \
        CHECK(shmem_##N##_cswap(&word, 11, 20, next_pe()) == 11); \
        CHECK(shmem_##N##_swap(&word, 21, next_pe()) == 20);      \
        CHECK(shmem_##N##_fetch(&word, next_pe()) == 21);         \
        shmem_barrier_all();                                      \
    }
#define OLD_FLOAT(N, T)                                              \
    {                                                                \
        static T word;                                               \
        shmem_##N##_set(&word, (T)1.5, next_pe());                   \
        shmem_barrier_all();                                         \
        CHECK(shmem_##N##_swap(&word, (T)2.5, next_pe()) == (T)1.5); \
        CHECK(shmem_##N##_fetch(&word, next_pe()) == (T)2.5);        \
        shmem_barrier_all();                                         \
    }
void deprecated_atomics(void) {
    static long word = 1;
    WEFT_SHMEM_AMO_OLD(OLD_TYPE)
    OLD_FLOAT(float, float)
    OLD_FLOAT(double, double)
    // The parentheses select the routine for long instead of the generic macro.
    CHECK((shmem_swap)(&word, 2, next_pe()) == 1);
    shmem_barrier_all();
    word = 1;
    shmem_barrier_all();
}

void generic_atomics(void) {
    static long word;
    static unsigned bits;
    static float number;
    long got = 0;
    word = 0;
    bits = 0;
    shmem_barrier_all();
    shmem_atomic_add(&word, 5, next_pe());
    shmem_atomic_inc(SHMEM_CTX_DEFAULT, &word, next_pe());
    CHECK(shmem_atomic_fetch_add(&word, 10, next_pe()) == 6);
    CHECK(shmem_atomic_fetch((const long*)&word, next_pe()) == 16);
    CHECK(shmem_atomic_compare_swap(SHMEM_CTX_DEFAULT, &word, 16, 17, next_pe()) == 16);
    CHECK(shmem_atomic_swap(&word, 18, next_pe()) == 17);
    CHECK(shmem_atomic_fetch_inc(&word, next_pe()) == 18);
    shmem_atomic_fetch_add_nbi(&got, &word, 1, next_pe());
    shmem_quiet();
    CHECK(got == 19);
    shmem_atomic_or(&bits, 6, next_pe());
    shmem_atomic_and(&bits, 12, next_pe());
    shmem_atomic_xor(SHMEM_CTX_DEFAULT, &bits, 1, next_pe());
    CHECK(shmem_atomic_fetch_or(&bits, 0, next_pe()) == 5);
    shmem_atomic_set(&number, 2.5F, next_pe());
    shmem_barrier_all();
    CHECK(number == 2.5F);
    CHECK(shmem_fadd(&word, 1, me()) == 20 && shmem_fetch(&word, me()) == 21);
    shmem_barrier_all();
}
