// SPDX-License-Identifier: BSD-3-Clause
// calls.c - tests types, user operations, requests, teams, memory and progress of the C interface
// against the rules of weft.h.
#define _POSIX_C_SOURCE 200809L
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

/// Checks weft_type_size(), and the layout of pairs of a value and an index.
static void type_sizes(void) {
    struct {
        double value;
        int index;
    } double_int;
    struct {
        long double value;
        int index;
    } longdouble_int;
    struct {
        int16_t value;
        int index;
    } int16_int;
    struct {
        int64_t value;
        int index;
    } int64_int;
    const size_t sizes[] = {[WEFT_INT8] = 1,
                            [WEFT_INT16] = 2,
                            [WEFT_INT32] = 4,
                            [WEFT_INT64] = 8,
                            [WEFT_UINT8] = 1,
                            [WEFT_UINT16] = 2,
                            [WEFT_UINT32] = 4,
                            [WEFT_UINT64] = 8,
                            [WEFT_FLOAT] = sizeof(float),
                            [WEFT_DOUBLE] = sizeof(double),
                            [WEFT_LONGDOUBLE] = sizeof(long double),
                            [WEFT_CFLOAT] = sizeof(float complex),
                            [WEFT_CDOUBLE] = sizeof(double complex),
                            [WEFT_BOOL] = sizeof(bool),
                            [WEFT_FLOAT16] = 2,
                            [WEFT_BFLOAT16] = 2,
                            [WEFT_FLOAT_INT] = 8,
                            [WEFT_DOUBLE_INT] = sizeof double_int,
                            [WEFT_INT16_INT] = sizeof int16_int,
                            [WEFT_INT32_INT] = 8,
                            [WEFT_INT64_INT] = sizeof int64_int,
                            [WEFT_LONGDOUBLE_INT] = sizeof longdouble_int,
                            [WEFT_DOUBLE_INT64] = 16,
                            [WEFT_INT64_INT64] = 16};
    for (size_t type = 0; type < sizeof sizes / sizeof *sizes; ++type)
        CHECK(weft_type_size((weft_type)type) == sizes[type]);
    CHECK(weft_type_size(WEFT_TYPE_RANGE) == 0);
    CHECK(weft_type_size((weft_type)-1) == 0);
    // MAXLOC must find the fields where the C compiler has placed them.
    memset(&longdouble_int, 0, sizeof longdouble_int);
    longdouble_int.value = 0.5L * my_rank;
    longdouble_int.index = my_rank + 40;
    DONE(
        weft_allreduce(world, WEFT_IN_PLACE, &longdouble_int, 1, WEFT_LONGDOUBLE_INT, WEFT_MAXLOC));
    CHECK(longdouble_int.value == 0.5L * (size - 1) && longdouble_int.index == size + 39);
}

/// User operation: `inout`, the operand of the higher rank, is the result as it is. Adds the number
/// of elements to *arg.
static void keep_later(const void* in, void* inout, size_t count, void* arg) {
    (void)in;
    (void)inout;
    *(size_t*)arg += count;
}

/// Checks that a user operation is applied to all elements, also if it is freed while its call is
/// in flight.
static void user_operations(void) {
    enum { kMany = 3000 };
    static uint64_t ranks[kMany];
    size_t combined = 0;
    weft_op op = WEFT_OP_NONE;
    weft_request* request = NULL;
    DONE(weft_op_create(keep_later, &combined, 0, &op));
    for (size_t i = 0; i < kMany; ++i) ranks[i] = (uint64_t)my_rank;
    DONE(weft_iallreduce(world, WEFT_IN_PLACE, ranks, kMany, WEFT_INT64, op, &request));
    DONE(weft_op_free(&op));
    DONE(weft_wait(&request));
    for (size_t i = 0; i < kMany; ++i) CHECK(ranks[i] == (uint64_t)size - 1);
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &combined, 1, WEFT_UINT64, WEFT_SUM));
    CHECK(size == 1 || combined >= kMany);
}

/// Starts 200 calls and completes them in reverse order by weft_wait() or weft_test().
static void started_calls(void) {
    enum { kCalls = 200 };
    static double values[kCalls][40];
    static weft_request* requests[kCalls];
    for (int call = 0; call < kCalls; ++call) {
        for (int i = 0; i < 40; ++i) values[call][i] = my_rank + call + i;
        if (call % 3 == 0)
            DONE(weft_iallreduce(world, WEFT_IN_PLACE, values[call], 40, WEFT_DOUBLE, WEFT_SUM,
                                 &requests[call]));
        else if (call % 3 == 1)
            DONE(weft_ibroadcast(world, values[call], 40, WEFT_DOUBLE, call % size,
                                 &requests[call]));
        else
            DONE(weft_ibarrier(world, &requests[call]));
        CHECK(requests[call] != NULL);
    }
    for (int call = kCalls - 1; call >= 0; --call) {
        weft_request* const stale = requests[call];
        int done = 0;
        if (call % 2 == 0) DONE(weft_wait(&requests[call]));
        while (requests[call] != NULL) DONE(weft_test(&requests[call], &done));
        weft_request* again = stale;
        REFUSED(weft_wait(&again), "complete");
        for (int i = 0; i < 40; ++i) {
            const double sum = size * (size - 1) / 2.0 + (double)size * (call + i);
            if (call % 3 == 0) CHECK(values[call][i] == sum);
            if (call % 3 == 1) CHECK(values[call][i] == call % size + call + i);
        }
    }
}

/// Starts three persistent calls 300 times with the same requests.
static void persistent_calls(void) {
    double in[5];
    double out[5];
    int word = 0;
    weft_request* reduce = NULL;
    weft_request* broadcast = NULL;
    weft_request* barrier = NULL;
    DONE(weft_allreduce_init(world, in, out, 5, WEFT_DOUBLE, WEFT_SUM, &reduce));
    DONE(weft_broadcast_init(world, &word, 1, WEFT_INT32, size - 1, &broadcast));
    DONE(weft_barrier_init(world, &barrier));
    weft_request* const first_handle = reduce;
    for (int round = 0; round < 300; ++round) {
        for (int i = 0; i < 5; ++i) in[i] = my_rank * round + i;
        word = my_rank + round;
        DONE(weft_start(reduce));
        DONE(weft_start(broadcast));
        DONE(weft_start(barrier));
        if (round % 50 == 0 && size > 1) {
            REFUSED(weft_start(reduce), "in flight");
        }
        int done = 0;
        while (!done) DONE(weft_test(&broadcast, &done));
        DONE(weft_wait(&barrier));
        DONE(weft_wait(&reduce));
        CHECK(reduce == first_handle);
        CHECK(word == size - 1 + round);
        for (int i = 0; i < 5; ++i) CHECK(out[i] == round * (size * (size - 1) / 2) + i * size);
    }
    DONE(weft_request_free(&reduce));
    DONE(weft_request_free(&broadcast));
    DONE(weft_request_free(&barrier));
}

/// Checks ranks and sizes of split teams, and makes and frees more teams than can exist at once.
static void teams(void) {
    weft_team* parity = NULL;
    weft_team* reversed = NULL;
    weft_team* node = NULL;
    weft_team* of_rank_0 = world;
    DONE(weft_team_split(world, my_rank % 2, -my_rank, &parity));
    CHECK(weft_size(parity) == (size + (my_rank % 2 == 0)) / 2);
    CHECK(weft_rank(parity) == weft_size(parity) - 1 - my_rank / 2);
    DONE(weft_team_split(parity, 0, -weft_rank(parity), &reversed));
    CHECK(weft_rank(reversed) == my_rank / 2);
    int sum = my_rank;
    DONE(weft_allreduce(reversed, WEFT_IN_PLACE, &sum, 1, WEFT_INT32, WEFT_SUM));
    int expected = 0;
    for (int rank = my_rank % 2; rank < size; rank += 2) expected += rank;
    CHECK(sum == expected);
    const int one = 1; /* a reduce ignores `out` on other ranks than the root */
    void* const out = weft_rank(reversed) == 0 ? &sum : WEFT_IN_PLACE;
    DONE(weft_reduce(reversed, &one, out, 1, WEFT_INT32, WEFT_SUM, 0));
    if (weft_rank(reversed) == 0) CHECK(sum == weft_size(reversed));
    DONE(weft_team_split(world, my_rank == 0 ? 0 : -1, 0, &of_rank_0));
    CHECK((of_rank_0 != NULL) == (my_rank == 0));
    if (of_rank_0 != NULL) DONE(weft_team_free(of_rank_0));
    DONE(weft_team_split_node(world, &node));
    int nodes = weft_rank(node) == 0;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &nodes, 1, WEFT_INT32, WEFT_SUM));
    const char* expected_nodes = getenv("TEST_NODES");
    CHECK(expected_nodes == NULL || nodes == atoi(expected_nodes));
    DONE(weft_team_free(node));
    DONE(weft_team_free(parity));  // the nested team remains usable
    DONE(weft_barrier(reversed));
    DONE(weft_team_free(reversed));
    for (int i = 0; i < 200; ++i) {
        weft_team* again = NULL;
        DONE(weft_team_split(world, i % 2 ? 0 : my_rank / 2, 0, &again));
        DONE(weft_barrier(again));
        weft_team* stale = again;
        DONE(weft_team_free(again));
        REFUSED(weft_barrier(stale), "freed");
    }
}

/// Allocates memory of the world after the ranks of odd number have filled parts of their heaps.
/// Local peers then store words in each other's memory.
static void memory(void) {
    weft_team* parity = NULL;
    weft_team* node = NULL;
    void* own[8] = {NULL};
    void* large = NULL;
    int64_t* shared = NULL;
    void* found = NULL;
    DONE(weft_team_split(world, my_rank % 2, 0, &parity));
    DONE(weft_team_split_node(world, &node));
    for (int i = 0; i < 8 && my_rank % 2; ++i)
        DONE(weft_alloc(parity, 100 + 1000 * (size_t)i, &own[i]));
    for (int i = 1; i < 8 && my_rank % 2; i += 2) DONE(weft_free(parity, own[i]));
    DONE(weft_alloc_aligned(world, (size_t)1 << 20, (size_t)3 << 20, &large));
    CHECK((uintptr_t)large % ((size_t)1 << 20) == 0);
    memset(large, my_rank, (size_t)3 << 20);
    DONE(weft_alloc(world, sizeof(int64_t) * (size_t)size, &found));
    shared = found;
    CHECK((uintptr_t)shared % 64 == 0);
    CHECK(weft_ptr(world, shared, my_rank) == shared);
    // Each rank stores a word at every peer whose memory is mapped.
    for (int i = 0; i < size; ++i) shared[i] = -1;
    DONE(weft_barrier(world));
    for (int peer = 0; peer < size; ++peer) {
        int64_t* mapped = weft_ptr(world, &shared[my_rank], peer);
        if (mapped != NULL) *mapped = 1000 * peer + my_rank;
    }
    DONE(weft_barrier(world));
    int local_ranks = 0;
    for (int peer = 0; peer < size; ++peer) {
        const int is_local = weft_ptr(world, shared, peer) != NULL;
        CHECK(shared[peer] == (is_local ? 1000 * my_rank + peer : -1));
        local_ranks += is_local;
    }
    CHECK(local_ranks == weft_size(node));
    DONE(weft_free(world, large));
    DONE(weft_free(world, shared));
    DONE(weft_alloc(parity, 0, &found));
    DONE(weft_free(parity, found));
    for (int i = 0; i < 8 && my_rank % 2; i += 2) DONE(weft_free(parity, own[i]));
    DONE(weft_team_free(parity));
    DONE(weft_team_free(node));
}

static int ticks;    ///< calls of count_ticks()
static int refused;  ///< barriers that were refused in count_ticks()

/// Function of weft_on_progress(). It must not call collectives; weft_progress() has no effect.
static void count_ticks(void* arg) {
    CHECK(arg == &ticks);
    ++ticks;
    refused += weft_barrier(world) == WEFT_ERR_ARGUMENT &&
               strstr(weft_last_error(), "weft_on_progress") != NULL;
    weft_progress(runtime);
}

/// Checks that the ranks that wait for a late rank call their function, in a barrier and in an
/// allreduce. On a busy machine a rank may enter even later and not wait, so the test repeats.
static void external_progress(void) {
    static double many[5000];
    DONE(weft_on_progress(runtime, count_ticks, &ticks));
    const struct timespec pause = {0, 30 * 1000 * 1000};  // 30 ms
    for (int late = 0; late < 2 && late < size; ++late) {
        for (int is_allreduce = 0; is_allreduce < 2; ++is_allreduce) {
            int all_called = 0;
            for (int attempt = 0; attempt < 100 && !all_called; ++attempt) {
                ticks = refused = 0;
                if (my_rank == late) nanosleep(&pause, NULL);
                if (is_allreduce)
                    DONE(weft_allreduce(world, WEFT_IN_PLACE, many, 5000, WEFT_DOUBLE, WEFT_SUM));
                else
                    DONE(weft_barrier(world));
                CHECK(refused == ticks);
                all_called = my_rank == late || ticks > 0;
                DONE(weft_allreduce(world, WEFT_IN_PLACE, &all_called, 1, WEFT_INT32, WEFT_MIN));
            }
            CHECK(all_called);
        }
    }
    DONE(weft_on_progress(runtime, NULL, NULL));
    ticks = 0;
    for (int i = 0; i < 100; ++i) weft_progress(runtime);
    DONE(weft_barrier(world));
    CHECK(ticks == 0);
}

int main(void) {
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
             WEFT_VERSION_PATCH);
    CHECK(strcmp(weft_version(), version) == 0);
    if (!join_job()) return 1;
    CHECK(world == weft_world(runtime));
    type_sizes();
    user_operations();
    started_calls();
    persistent_calls();
    teams();
    memory();
    external_progress();
    DONE(weft_finalize(runtime));
    return verdict("all calls are right");
}
