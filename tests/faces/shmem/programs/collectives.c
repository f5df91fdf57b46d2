/* SPDX-License-Identifier: BSD-3-Clause */
// collectives.c - collectives of teams and of active sets, with all types and operations.
#include <complex.h>
#include <shmemx.h>

#include "program.h"

enum {
    kCount = 5,
    kPesMax = 64,
    kUntouched = 120,  // fits every type, and exceeds every operand of a minimum
};

void barriers(void) {
    static int words[kPesMax];
    for (int round = 1; round <= 30; ++round) {
        for (int pe = 0; pe < pes(); ++pe) shmem_int_p(&words[me()], round, pe);
        shmem_barrier_all();
        for (int pe = 0; pe < pes(); ++pe) CHECK(words[pe] == round);
        shmem_sync_all();
    }
    CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) == 0 && shmem_sync(SHMEM_TEAM_WORLD) == 0);
    CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
}

#define BROADCAST_TYPE(N, T)                                                             \
    for (int root = 0; root < pes(); root += 2) {                                        \
        static T dest[kCount], source[kCount];                                           \
        for (int i = 0; i < kCount; ++i) {                                               \
            source[i] = (T)(me() + i);                                                   \
            dest[i] = kUntouched;                                                        \
        }                                                                                \
        shmem_sync_all();                                                                \
        CHECK(shmem_##N##_broadcast(SHMEM_TEAM_WORLD, dest, source, kCount, root) == 0); \
        for (int i = 0; i < kCount; ++i) CHECK(dest[i] == (T)(root + i));                \
        shmem_sync_all();                                                                \
    }
void broadcasts(void) {
    WEFT_SHMEM_RMA(BROADCAST_TYPE)
}

// PE p has p % 3 elements, so some have none.
#define COLLECT_TYPE(N, T)                                                                   \
    {                                                                                        \
        static T dest[3 * kPesMax], source[3];                                               \
        size_t at = 0;                                                                       \
        for (int i = 0; i < 3; ++i) source[i] = (T)(me() % 30 + 2 * i);                      \
        for (int i = 0; i < 3 * kPesMax; ++i) dest[i] = kUntouched;                          \
        shmem_sync_all();                                                                    \
        CHECK(shmem_##N##_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)(me() % 3)) == 0); \
        for (int pe = 0; pe < pes(); ++pe)                                                   \
            for (int i = 0; i < pe % 3; ++i) CHECK(dest[at++] == (T)(pe % 30 + 2 * i));      \
        CHECK(dest[at] == kUntouched);                                                       \
        shmem_sync_all();                                                                    \
        CHECK(shmem_##N##_fcollect(SHMEM_TEAM_WORLD, dest, source, 2) == 0);                 \
        for (int pe = 0; pe < pes(); ++pe)                                                   \
            CHECK(dest[2 * pe] == (T)(pe % 30) && dest[2 * pe + 1] == (T)(pe % 30 + 2));     \
        shmem_sync_all();                                                                    \
    }
void collects(void) {
    WEFT_SHMEM_RMA(COLLECT_TYPE)
}

#define ALLTOALL_TYPE(N, T)                                                                   \
    {                                                                                         \
        static T dest[6 * kPesMax], source[6 * kPesMax];                                      \
        for (int pe = 0; pe < pes(); ++pe)                                                    \
            for (int i = 0; i < 2; ++i) source[2 * pe + i] = (T)(me() % 9 * 10 + pe % 9 + i); \
        shmem_sync_all();                                                                     \
        CHECK(shmem_##N##_alltoall(SHMEM_TEAM_WORLD, dest, source, 2) == 0);                  \
        for (int pe = 0; pe < pes(); ++pe)                                                    \
            for (int i = 0; i < 2; ++i)                                                       \
                CHECK(dest[2 * pe + i] == (T)(pe % 9 * 10 + me() % 9 + i));                   \
        shmem_sync_all();                                                                     \
        /* Destination stride 2, source stride 3; elements in the gaps do not change. */      \
        for (int i = 0; i < 6 * kPesMax; ++i) {                                               \
            source[i] = (T)(me() % 9 * 10 + i % 7);                                           \
            dest[i] = kUntouched;                                                             \
        }                                                                                     \
        shmem_sync_all();                                                                     \
        CHECK(shmem_##N##_alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 3, 2) == 0);           \
        for (int pe = 0; pe < pes(); ++pe)                                                    \
            for (int i = 0; i < 2; ++i) {                                                     \
                CHECK(dest[2 * (2 * pe + i)] == (T)(pe % 9 * 10 + 3 * (2 * me() + i) % 7));   \
                CHECK(dest[2 * (2 * pe + i) + 1] == kUntouched);                              \
            }                                                                                 \
        shmem_sync_all();                                                                     \
    }
void alltoalls(void) {
    WEFT_SHMEM_RMA(ALLTOALL_TYPE)
}

// Returns byte i of the source of a PE.
static char letter(int pe, int i) {
    return (char)('a' + (pe * 5 + i) % 26);
}

void collectives_of_bytes(void) {
    // shmem_collectmem() gathers 1 + 2 + ... + pes() bytes.
    static char dest[kPesMax * (kPesMax + 1) / 2], source[16 * kPesMax];
    for (int i = 0; i < 16 * kPesMax; ++i) source[i] = letter(me(), i);
    shmem_sync_all();
    shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, 100, 1);
    CHECK(dest[0] == letter(1, 0) && dest[99] == letter(1, 99));
    shmem_sync_all();
    shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, (size_t)me() + 1);
    CHECK(dest[0] == letter(0, 0) && dest[1] == letter(1, 0) && dest[2] == letter(1, 1));
    shmem_sync_all();
    shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, 7);
    CHECK(dest[7 * (pes() - 1)] == letter(pes() - 1, 0));
    shmem_sync_all();
    shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, 3);
    CHECK(dest[3] == letter(1, 3 * me()));
    shmem_sync_all();
    shmem_alltoallsmem(SHMEM_TEAM_WORLD, dest, source, 1, 2, 3);
    CHECK(dest[3 + 1] == letter(1, 2 * (3 * me() + 1)));  // element 1 of 3 from PE 1
    shmem_sync_all();
}

// Operands depend on PE and index; each PE computes the expected value in the order of PEs.
#define REDUCE_TYPE(N, T, NAME, START, STEP, OPERAND)                                    \
    {                                                                                    \
        static T dest[kCount], source[kCount];                                           \
        for (int i = 0; i < kCount; ++i) source[i] = OPERAND(T, me(), i);                \
        shmem_sync_all();                                                                \
        CHECK(shmem_##N##_##NAME##_reduce(SHMEM_TEAM_WORLD, dest, source, kCount) == 0); \
        for (int i = 0; i < kCount; ++i) {                                               \
            T expected = START;                                                          \
            for (int pe = 0; pe < pes(); ++pe) {                                         \
                const T operand = OPERAND(T, pe, i);                                     \
                expected = (T)(STEP);                                                    \
            }                                                                            \
            CHECK(dest[i] == expected);                                                  \
        }                                                                                \
        shmem_sync_all();                                                                \
    }
#define SMALL(T, pe, i) ((T)((pe)*3 % 7 + (i) + 1))
#define TINY(T, pe, i) ((T)(((pe) + (i)) % 3 == 0 ? 2 : 1))
#define BITS_OF(T, pe, i) ((T)(0x35 * ((pe) + 1) + (i)))
#define SUM_TYPE(N, T)                                   \
    REDUCE_TYPE(N, T, sum, 0, expected + operand, SMALL) \
    REDUCE_TYPE(N, T, prod, 1, expected* operand, TINY)
void reduce_sums(void) {
    WEFT_SHMEM_REDUCE_NUMBERS(SUM_TYPE)
}
#define ORDER_TYPE(N, T)                                                               \
    REDUCE_TYPE(N, T, min, kUntouched, operand < expected ? operand : expected, SMALL) \
    REDUCE_TYPE(N, T, max, 0, operand > expected ? operand : expected, SMALL)
void reduce_extremes(void) {
    WEFT_SHMEM_REDUCE_ORDERED(ORDER_TYPE)
}
#define BITS_TYPE(N, T)                                           \
    REDUCE_TYPE(N, T, and, (T) ~(T)0, expected& operand, BITS_OF) \
    REDUCE_TYPE(N, T, or, 0, expected | operand, BITS_OF)         \
    REDUCE_TYPE(N, T, xor, 0, expected ^ operand, BITS_OF)
void reduce_bits(void) {
    WEFT_SHMEM_REDUCE_BITS(BITS_TYPE)
}

void reduce_complex(void) {
    static double _Complex dest[2], source[2];
    source[0] = me() + 2.0 * I;
    source[1] = 1.0 * I;
    shmem_sync_all();
    shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 2);
    CHECK(creal(dest[0]) == pes() * (pes() - 1) / 2 && cimag(dest[0]) == 2 * pes());
    shmem_sync_all();
    shmem_prod_reduce(SHMEM_TEAM_WORLD, dest, source + 1, 1);
    CHECK(dest[0] == (pes() % 4 == 0   ? 1.0
                      : pes() % 4 == 1 ? 1.0 * I
                      : pes() % 4 == 2 ? -1.0
                                       : -1.0 * I));
    shmem_sync_all();
}

// Each three consecutive PEs contribute 2^80, 1 and -2^80, of which a sum in floating point loses
// the 1. The remaining PEs contribute 1.
void reduce_exactly(void) {
    const int triples = pes() / 3;
    const int role = me() < 3 * triples ? me() % 3 : 1;
    static double dest[2], source[2];
    static float dest_float, source_float;
    source[0] = role == 0 ? 0x1p80 : role == 1 ? 1 : -0x1p80;
    source[1] = 1;
    source_float = (float)source[0];
    shmem_sync_all();
    CHECK(shmemx_double_exact_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 2) == 0);
    CHECK(dest[0] == pes() - 2 * triples && dest[1] == pes());
    CHECK(shmemx_float_exact_sum_reduce(SHMEM_TEAM_WORLD, &dest_float, &source_float, 1) == 0);
    CHECK(dest_float == (float)(pes() - 2 * triples));
    shmem_sync_all();
}

void reduce_in_place(void) {
    long* block = shmem_malloc(3000 * sizeof *block);
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 3000; ++i) block[i] = me() + i + round;
        shmem_sync_all();
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, block, 3000);
        const long pairs = (long)pes() * (pes() - 1) / 2;
        for (int i = 0; i < 3000; ++i) CHECK(block[i] == pairs + (long)pes() * (i + round));
        shmem_sync_all();
    }
    shmem_free(block);
}

void generic_collectives(void) {
    static int dest[2 * kPesMax], source[2 * kPesMax];
    static unsigned char small, smallest;
    for (int i = 0; i < 2 * kPesMax; ++i) source[i] = me() * 100 + i;
    shmem_sync_all();
    shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 2, pes() - 1);
    CHECK(dest[1] == (pes() - 1) * 100 + 1);
    shmem_sync_all();
    shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, 1);
    CHECK(dest[pes() - 1] == (pes() - 1) * 100);
    shmem_sync_all();
    shmem_collect(SHMEM_TEAM_WORLD, dest, source, 2);
    CHECK(dest[2 * pes() - 1] == (pes() - 1) * 100 + 1);
    shmem_sync_all();
    shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, 1);
    CHECK(dest[pes() - 1] == (pes() - 1) * 100 + me());
    shmem_sync_all();
    shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 1, 1);
    CHECK(dest[2 * (pes() - 1)] == (pes() - 1) * 100 + me());
    shmem_sync_all();
    shmem_max_reduce(SHMEM_TEAM_WORLD, dest, source, 2);
    CHECK(dest[1] == (pes() - 1) * 100 + 1);
    small = (unsigned char)(40 + me());
    shmem_sync_all();
    shmem_min_reduce(SHMEM_TEAM_WORLD, &smallest, &small, 1);
    CHECK(smallest == 40);
    shmem_sync_all();
    shmem_or_reduce(SHMEM_TEAM_WORLD, &smallest, &small, 1);
    CHECK(smallest >= 40 + pes() - 1);
    shmem_sync_all();
}

// --- collectives over active sets: all PEs, or some of them ---

static long pSync[SHMEM_SYNC_SIZE];
static long pSync2[SHMEM_REDUCE_SYNC_SIZE];
static long pSync3[SHMEM_BARRIER_SYNC_SIZE];

// The odd set: PEs 1, 3, 5, ...
static int in_odd_set(void) {
    return me() % 2 == 1;
}
static int odd_count(void) {
    return pes() / 2;
}

void sets_synchronize(void) {
    static int words[kPesMax];
    for (int round = 1; round < 20; ++round) {
        if (in_odd_set()) {
            for (int pe = 1; pe < pes(); pe += 2) shmem_int_p(&words[me()], round, pe);
            shmem_barrier(1, 1, odd_count(), pSync);
            for (int pe = 1; pe < pes(); pe += 2) CHECK(words[pe] == round);
            shmem_sync(1, 1, odd_count(), pSync2);
        }
        // All PEs except PE 0. The parentheses select the function, not the macro.
        if (me() > 0) (shmem_sync)(1, 0, pes() - 1, pSync3);
    }
    shmem_barrier(0, 0, pes(), pSync);
}

void sets_broadcast(void) {
    static long dest[3], source[3];
    static int dest32[3], source32[3];
    for (int i = 0; i < 3; ++i) {
        source[i] = me() * 10 + i;
        source32[i] = me() * 10 + i;
        dest[i] = dest32[i] = -1;
    }
    shmem_barrier_all();
    shmem_broadcast64(dest, source, 3, 0, 0, 0, pes(), pSync);
    CHECK(dest[2] == (me() == 0 ? -1 : 2));  // the root's dest does not change
    if (in_odd_set()) {
        const int root = odd_count() - 1;  // its index in the set
        shmem_broadcast32(dest32, source32, 3, root, 1, 1, odd_count(), pSync2);
        CHECK(dest32[1] == (me() == 1 + 2 * root ? -1 : (1 + 2 * root) * 10 + 1));
    } else {
        CHECK(dest32[1] == -1);
    }
    shmem_barrier_all();
}

void sets_collect(void) {
    static long dest[2 * kPesMax], source[2];
    static int dest32[2 * kPesMax], source32[2];
    source[0] = me();
    source[1] = -me();
    source32[0] = me() + 7;
    shmem_barrier_all();
    shmem_collect64(dest, source, (size_t)(me() % 2 + 1), 0, 0, pes(), pSync);
    CHECK(dest[0] == 0 && dest[1] == 1 && dest[2] == -1);
    if (in_odd_set()) {
        shmem_fcollect32(dest32, source32, 1, 1, 1, odd_count(), pSync2);
        for (int i = 0; i < odd_count(); ++i) CHECK(dest32[i] == 1 + 2 * i + 7);
        shmem_sync(1, 1, odd_count(), pSync3);
        shmem_collect32(dest32, source32, 1, 1, 1, odd_count(), pSync2);
        CHECK(dest32[odd_count() - 1] == 2 * odd_count() - 1 + 7);
    }
    shmem_barrier_all();
    shmem_fcollect64(dest, source, 2, 0, 0, pes(), pSync);
    CHECK(dest[2 * pes() - 1] == 1 - pes());
    shmem_barrier_all();
}

void sets_alltoall(void) {
    static long dest[4 * kPesMax], source[4 * kPesMax];
    static int dest32[4 * kPesMax], source32[4 * kPesMax];
    for (int i = 0; i < 4 * kPesMax; ++i) {
        source[i] = 1000 * me() + i;
        source32[i] = 1000 * me() + i;
    }
    shmem_barrier_all();
    shmem_alltoall64(dest, source, 2, 0, 0, pes(), pSync);
    for (int pe = 0; pe < pes(); ++pe) CHECK(dest[2 * pe + 1] == 1000 * pe + 2 * me() + 1);
    if (me() > 0) {  // all PEs except PE 0
        shmem_alltoall32(dest32, source32, 1, 1, 0, pes() - 1, pSync2);
        for (int pe = 1; pe < pes(); ++pe) CHECK(dest32[pe - 1] == 1000 * pe + me() - 1);
        shmem_sync(1, 0, pes() - 1, pSync3);
        shmem_alltoalls32(dest32, source32, 2, 3, 1, 1, 0, pes() - 1, pSync2);
        for (int pe = 1; pe < pes(); ++pe)
            CHECK(dest32[2 * (pe - 1)] == 1000 * pe + 3 * (me() - 1));
    }
    shmem_barrier_all();
    shmem_alltoalls64(dest, source, 1, 2, 1, 0, 0, pes(), pSync);
    CHECK(dest[pes() - 1] == 1000 * (pes() - 1) + 2 * me());
    shmem_barrier_all();
}

#define TO_ALL(N, T, NAME, START, STEP)                                                   \
    {                                                                                     \
        static T dest[3], source[3], pWrk[4];                                             \
        for (int i = 0; i < 3; ++i) source[i] = SMALL(T, me(), i);                        \
        shmem_sync_all();                                                                 \
        if (in_odd_set()) {                                                               \
            shmem_##N##_##NAME##_to_all(dest, source, 3, 1, 1, odd_count(), pWrk, pSync); \
            for (int i = 0; i < 3; ++i) {                                                 \
                T expected = START;                                                       \
                for (int pe = 1; pe < pes(); pe += 2) {                                   \
                    const T operand = SMALL(T, pe, i);                                    \
                    expected = (T)(STEP);                                                 \
                }                                                                         \
                CHECK(dest[i] == expected);                                               \
            }                                                                             \
        }                                                                                 \
        shmem_sync_all();                                                                 \
    }
#define SUM_ALL(N, T) \
    TO_ALL(N, T, sum, 0, expected + operand) TO_ALL(N, T, prod, 1, expected* operand)
#define ORDER_ALL(N, T)                                                    \
    TO_ALL(N, T, min, kUntouched, operand < expected ? operand : expected) \
    TO_ALL(N, T, max, 0, operand > expected ? operand : expected)
#define BITS_ALL(N, T)                              \
    TO_ALL(N, T, and, (T) ~(T)0, expected& operand) \
    TO_ALL(N, T, or, 0, expected | operand) TO_ALL(N, T, xor, 0, expected ^ operand)
void sets_reduce_sums(void) {
    WEFT_SHMEM_TO_ALL_NUMBERS(SUM_ALL)
}
void sets_reduce_extremes(void) {
    WEFT_SHMEM_TO_ALL_ORDERED(ORDER_ALL)
}
void sets_reduce_bits(void) {
    WEFT_SHMEM_TO_ALL_BITS(BITS_ALL)
}
