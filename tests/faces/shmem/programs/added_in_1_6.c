/* SPDX-License-Identifier: BSD-3-Clause */
// added_in_1_6.c - tests of the routines that OpenSHMEM 1.6 added.
#include <complex.h>

#include "program.h"

// Number of blocks; in elements: their size, and their distances in the destination and the source.
enum { kBlocks = 5, kBlock = 3, kTo = 4, kFrom = 7 };

static unsigned char elements[kBlocks * kFrom * sizeof(long double)];
static unsigned char received[kBlocks * kFrom * sizeof(long double)];

static unsigned char byte_of(int pe, size_t i) {
    return (unsigned char)(29 * pe + 11 * i + i / 256 + 1);
}
// Fills the source, and zeroes the destination, on all PEs.
static void fill(void) {
    for (size_t i = 0; i < sizeof elements; ++i) elements[i] = byte_of(me(), i);
    memset(received, 0, sizeof received);
    shmem_barrier_all();
}
// Returns 1 if `received` has the blocks of PE `pe`, at a distance of `to` elements instead of
// `from`, and zeros between them.
static int has_blocks(int pe, size_t to, size_t from, size_t element) {
    static unsigned char expected[sizeof received];
    memset(expected, 0, sizeof expected);
    for (size_t block = 0; block < kBlocks; ++block)
        for (size_t i = 0; i < kBlock * element; ++i)
            expected[block * to * element + i] = byte_of(pe, block * from * element + i);
    return memcmp(received, expected, sizeof expected) == 0;
}

#define PUT_AND_GET_BLOCKS(PUT, GET, T, BYTES)                                     \
    fill();                                                                        \
    PUT((T*)received, (const T*)elements, kTo, kFrom, kBlock, kBlocks, next_pe()); \
    shmem_barrier_all();                                                           \
    CHECK(has_blocks(previous_pe(), kTo, kFrom, BYTES));                           \
    shmem_barrier_all();                                                           \
    fill();                                                                        \
    GET((T*)received, (const T*)elements, kFrom, kTo, kBlock, kBlocks, next_pe()); \
    CHECK(has_blocks(next_pe(), kFrom, kTo, BYTES));                               \
    shmem_barrier_all();
#define BLOCKS_OF_TYPE(N, T) PUT_AND_GET_BLOCKS(shmem_##N##_ibput, shmem_##N##_ibget, T, sizeof(T))
#define BLOCKS_OF_SIZE(N, BYTES) PUT_AND_GET_BLOCKS(shmem_ibput##N, shmem_ibget##N, void, BYTES)

void blocks_of_types(void) {
    WEFT_SHMEM_RMA(BLOCKS_OF_TYPE)
}
void blocks_of_sizes(void) {
    WEFT_SHMEM_SIZES(BLOCKS_OF_SIZE)
}

// A block of one element is an iput, and blocks without distance are one range.
void blocks_of_one_element(void) {
    static long dest[8];
    const long source[8] = {10L * me(), 1, 2, 3, 4, 5, 6, 7};
    shmem_ibput(dest, source, 2, 1, 1, 4, next_pe());
    shmem_barrier_all();
    CHECK(dest[0] == 10L * previous_pe() && dest[1] == 0 && dest[2] == 1 && dest[6] == 3);
    shmem_barrier_all();
    shmem_ibput(SHMEM_CTX_DEFAULT, dest, source, 4, 4, 4, 2, next_pe());
    shmem_barrier_all();
    CHECK(dest[0] == 10L * previous_pe() && dest[1] == 1 && dest[7] == 7);
    shmem_barrier_all();
    shmem_ibput(dest, source, 0, 0, 0, 4, next_pe());  // blocks without elements
    shmem_ibput(dest, source, 9, 9, 4, 0, next_pe());  // no blocks
    shmem_barrier_all();
    CHECK(dest[1] == 1);
}

void signals_alone(void) {
    static uint64_t signal;
    shmem_signal_set(&signal, 5, next_pe());
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 5);
    shmem_barrier_all();
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    for (int pe = 0; pe < pes(); ++pe) shmem_signal_add(ctx, &signal, 2, pe);
    shmem_ctx_destroy(ctx);
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 5 + 2 * (uint64_t)pes());
    CHECK(shmem_signal_fetch(&signal) == 5 + 2 * (uint64_t)pes());
    shmem_barrier_all();
}

// PE r contributes r + 1 to sum 0, and 10 (r + 1) to sum 1.
#define SCAN_TYPE(N, T)                                                          \
    {                                                                            \
        static T source[2], dest[2];                                             \
        source[0] = (T)(me() + 1);                                               \
        source[1] = (T)(10 * (me() + 1));                                        \
        dest[0] = dest[1] = (T)99;                                               \
        CHECK(shmem_##N##_sum_inscan(SHMEM_TEAM_WORLD, dest, source, 2) == 0);   \
        CHECK(dest[0] == (T)((me() + 1) * (me() + 2) / 2));                      \
        CHECK(dest[1] == (T)(10 * (me() + 1) * (me() + 2) / 2));                 \
        CHECK(shmem_##N##_sum_exscan(SHMEM_TEAM_WORLD, dest, source, 2) == 0);   \
        CHECK(dest[0] == (T)(me() * (me() + 1) / 2));                            \
        CHECK(shmem_##N##_sum_exscan(SHMEM_TEAM_WORLD, source, source, 2) == 0); \
        CHECK(source[0] == (T)(me() * (me() + 1) / 2));                          \
        CHECK(source[1] == (T)(10 * me() * (me() + 1) / 2));                     \
    }
void scan_types(void) {
    WEFT_SHMEM_REDUCE_NUMBERS(SCAN_TYPE)
    shmem_barrier_all();
}

void scan_in_teams(void) {
    shmem_team_t half = SHMEM_TEAM_INVALID;
    const int size = (pes() + 1) / 2;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &half) == 0);
    if (half != SHMEM_TEAM_INVALID) {
        static int source[1000], dest[1000];
        const int rank = shmem_team_my_pe(half);
        for (int i = 0; i < 1000; ++i) source[i] = i + rank;
        CHECK(shmem_sum_inscan(half, dest, source, 1000) == 0);
        for (int i = 0; i < 1000; ++i) CHECK(dest[i] == (rank + 1) * i + rank * (rank + 1) / 2);
        CHECK(shmem_sum_exscan(half, dest, source, 0) == 0);
        CHECK(dest[999] == (rank + 1) * 999 + rank * (rank + 1) / 2);
    }
    shmem_barrier_all();
    shmem_team_destroy(half);
    CHECK(shmem_int_sum_inscan(SHMEM_TEAM_INVALID, NULL, NULL, 0) != 0);
}

void pointers_in_teams(void) {
    static int word;
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, &word, 0) == NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, pes()) == NULL);
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, -1) == NULL);
    int unshared = 0;
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &unshared, me()) == NULL);
    for (int pe = 0; pe < pes(); ++pe)
        CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, pe) == shmem_ptr(&word, pe));
    const int local_pes = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    for (int pe = 0; pe < local_pes; ++pe) {
        const int world_pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, pe, SHMEM_TEAM_WORLD);
        int* const mapped = shmem_team_ptr(SHMEM_TEAM_SHARED, &word, pe);
        CHECK(mapped != NULL && mapped == shmem_ptr(&word, world_pe));
    }
}

void quiet_for_some_pes(void) {
    static long dest[2];
    const int targets[2] = {next_pe(), me()};
    const long value = me() + 1;
    shmem_put_nbi(dest, &value, 1, next_pe());
    shmem_pe_quiet(targets, 2);
    CHECK(shmem_long_g(dest, next_pe()) == value);
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    shmem_ctx_pe_quiet(ctx, targets, 2);  // no effect
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmem_put_nbi(ctx, dest + 1, &value, 1, next_pe());
    shmem_ctx_pe_quiet(ctx, targets, 1);
    CHECK(shmem_long_g(dest + 1, next_pe()) == value);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

void sessions(void) {
    static long counter;
    const shmem_ctx_session_config_t config = {.total_ops = 10};
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, &config,
                            SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, 0);
    for (int i = 0; i < 10; ++i) shmem_long_atomic_add(&counter, 1, 0);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &config, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_barrier_all();
    CHECK(shmem_long_g(&counter, 0) == 10L * pes());
    shmem_barrier_all();
}

static int initialized(void) {
    int answer = -1;
    shmem_query_initialized(&answer);
    return answer;
}

// Only the last of several shmem_finalize ends the job; a job can start again after it.
void starts_several_times(void) {
    static int kept = 1;
    static uint64_t word;
    CHECK(initialized() == 1);
    int level = -1;
    CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &level) == 0 && level == SHMEM_THREAD_SINGLE);
    shmem_init();
    shmem_uint64_p(&word, (uint64_t)me() + 1, next_pe());
    shmem_finalize();  // also a barrier
    CHECK(word == (uint64_t)previous_pe() + 1);
    shmem_finalize();
    CHECK(initialized() == 1);
    kept = 100 + me();
    const int rank = me();
    const int size = pes();
    shmem_finalize();
    CHECK(initialized() == 0);
    CHECK(kept == 100 + rank);
    shmem_init();
    CHECK(initialized() == 1 && me() == rank && pes() == size);
    CHECK(kept == 100 + me());
    int* const heap = shmem_malloc(sizeof *heap);
    CHECK(heap != NULL);
    shmem_int_p(heap, 7 + me(), next_pe());
    shmem_int_p(&kept, 200 + me(), next_pe());
    shmem_barrier_all();
    CHECK(*heap == 7 + previous_pe() && kept == 200 + previous_pe());
    shmem_free(heap);
}
