// SPDX-License-Identifier: BSD-3-Clause
// refusals.c - a C program of real ranks whose calls must be refused: right status, right words, and the
// team works as before. All ranks make the bad calls, then only the last one does.
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

static weft_runtime* runtime;
static weft_team* world;
static int size;

static void combine(const void* in, void* inout, size_t count, void* arg) {
    (void)in, (void)inout, (void)count, (void)arg;
}

static void check_team(void) {
    double sum = 1;
    double many[3000];
    int done = 0;
    weft_request* request = NULL;
    for (int i = 0; i < 3000; ++i) many[i] = i;
    DONE(weft_ibarrier(world, &request));
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &sum, 1, WEFT_DOUBLE, WEFT_SUM));
    DONE(weft_allreduce(world, WEFT_IN_PLACE, many, 3000, WEFT_DOUBLE, WEFT_SUM));
    CHECK(sum == size);
    CHECK(many[2999] == 2999.0 * size);
    while (!done) DONE(weft_test(&request, &done));
    CHECK(request == NULL);
}

static void null_pointers(void) {
    weft_team* team = NULL;
    weft_request* request = NULL;
    void* memory = NULL;
    int done = 0;
    double x = 1;
    weft_op op = WEFT_OP_NONE;
    REFUSED(weft_init(NULL), WEFT_ERR_ARGUMENT, "out is NULL");
    REFUSED(weft_finalize(NULL), WEFT_ERR_ARGUMENT, "runtime is NULL");
    REFUSED(weft_on_progress(NULL, NULL, NULL), WEFT_ERR_ARGUMENT, "runtime is NULL");
    weft_progress(NULL);
    CHECK(strstr(weft_last_error(), "weft_progress: the runtime is NULL.") != NULL);
    CHECK(weft_world(NULL) == NULL && weft_rank(NULL) == -1 && weft_size(NULL) == -1);
    CHECK(strstr(weft_last_error(), "weft_size") != NULL);
    CHECK(weft_ptr(NULL, &x, 0) == NULL);
    REFUSED(weft_team_split(NULL, 0, 0, &team), WEFT_ERR_ARGUMENT, "team is NULL");
    REFUSED(weft_team_split(world, 0, 0, NULL), WEFT_ERR_ARGUMENT, "out is NULL");
    REFUSED(weft_team_split_node(world, NULL), WEFT_ERR_ARGUMENT, "out is NULL");
    REFUSED(weft_team_free(NULL), WEFT_ERR_ARGUMENT, "team is NULL");
    REFUSED(weft_alloc(NULL, 8, &memory), WEFT_ERR_ARGUMENT, "team is NULL");
    REFUSED(weft_alloc(world, 8, NULL), WEFT_ERR_ARGUMENT, "out is NULL");
    REFUSED(weft_free(world, NULL), WEFT_ERR_ARGUMENT, "NULL");
    REFUSED(weft_barrier(NULL), WEFT_ERR_ARGUMENT, "team is NULL");
    REFUSED(weft_broadcast(NULL, &x, 1, WEFT_DOUBLE, 0), WEFT_ERR_ARGUMENT, "team is NULL");
    REFUSED(weft_broadcast(world, NULL, 1, WEFT_DOUBLE, 0), WEFT_ERR_ARGUMENT, "null");
    REFUSED(weft_allreduce(world, NULL, &x, 1, WEFT_DOUBLE, WEFT_SUM), WEFT_ERR_ARGUMENT, "null");
    REFUSED(weft_allreduce(world, &x, NULL, 1, WEFT_DOUBLE, WEFT_SUM), WEFT_ERR_ARGUMENT, "null");
    REFUSED(weft_op_create(NULL, NULL, 1, &op), WEFT_ERR_ARGUMENT, "fn is NULL");
    REFUSED(weft_op_create(combine, NULL, 1, NULL), WEFT_ERR_ARGUMENT, "out is NULL");
    REFUSED(weft_op_free(NULL), WEFT_ERR_ARGUMENT, "op is NULL");
    REFUSED(weft_ibarrier(world, NULL), WEFT_ERR_ARGUMENT, "request is NULL");
    REFUSED(weft_barrier_init(world, NULL), WEFT_ERR_ARGUMENT, "request is NULL");
    REFUSED(weft_start(NULL), WEFT_ERR_ARGUMENT, "request is NULL");
    REFUSED(weft_test(NULL, &done), WEFT_ERR_ARGUMENT, "request is NULL");
    REFUSED(weft_test(&request, NULL), WEFT_ERR_ARGUMENT, "done is NULL");
    REFUSED(weft_wait(NULL), WEFT_ERR_ARGUMENT, "request is NULL");
    REFUSED(weft_request_free(NULL), WEFT_ERR_ARGUMENT, "request is NULL");
    DONE(weft_wait(&request));
    DONE(weft_test(&request, &done));
    CHECK(done == 1);
    DONE(weft_request_free(&request));
}

static void collectives(void) {
    double a[16] = {0};
    double b[16] = {0};
    const void* no = WEFT_IN_PLACE;
    void* in_place;
    memcpy(&in_place, &no, sizeof in_place);
    REFUSED(weft_broadcast(world, a, 4, WEFT_DOUBLE, size), WEFT_ERR_ARGUMENT, "root");
    REFUSED(weft_broadcast(world, a, 4, WEFT_DOUBLE, -1), WEFT_ERR_ARGUMENT, "root: -1");
    REFUSED(weft_broadcast(world, in_place, 4, WEFT_DOUBLE, 0), WEFT_ERR_ARGUMENT, "WEFT_IN_PLACE");
    REFUSED(weft_allreduce(world, a, in_place, 4, WEFT_DOUBLE, WEFT_SUM), WEFT_ERR_ARGUMENT,
            "out is WEFT_IN_PLACE");
    REFUSED(weft_allreduce(world, a, a + 1, 8, WEFT_DOUBLE, WEFT_SUM), WEFT_ERR_ARGUMENT,
            "overlap");
    REFUSED(weft_allreduce(world, a + 7, a, 8, WEFT_DOUBLE, WEFT_SUM), WEFT_ERR_ARGUMENT,
            "overlap");
    REFUSED(weft_allreduce(world, a, b, SIZE_MAX, WEFT_DOUBLE, WEFT_SUM), WEFT_ERR_ARGUMENT,
            "count");
    REFUSED(weft_allreduce(world, a, b, SIZE_MAX / 8 + 2, WEFT_DOUBLE, WEFT_SUM), WEFT_ERR_ARGUMENT,
            "overflow");
    REFUSED(weft_broadcast(world, a, SIZE_MAX / 2 + 1, WEFT_INT8, 0), WEFT_ERR_ARGUMENT, "count");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_BAND), WEFT_ERR_ARGUMENT, "band");
    REFUSED(weft_allreduce(world, a, b, 4, (weft_type)99, WEFT_SUM), WEFT_ERR_ARGUMENT, "type: 99");
    REFUSED(weft_broadcast(world, a, 4, (weft_type)-1, 0), WEFT_ERR_ARGUMENT, "type: -1");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, (weft_op)77), WEFT_ERR_ARGUMENT, "op: 77");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_OP_NONE), WEFT_ERR_ARGUMENT, "NONE");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_OP_RANGE), WEFT_ERR_ARGUMENT, "op");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_MINLOC), WEFT_ERR_ARGUMENT, "minloc");
    REFUSED(weft_broadcast(world, a, 1, (weft_type)(WEFT_INT64_INT64 + 1), 0), WEFT_ERR_ARGUMENT,
            "type: 24");
}

// ---- What a rank can tell by itself of calls with a count for each member ----------------------------

enum { kRanksMax = 16 };
static double source[kRanksMax];
static double target[kRanksMax];
static size_t one[kRanksMax];
static size_t zero[kRanksMax];
static size_t follow[kRanksMax];
static size_t bad[kRanksMax];   ///< the last one is negative, where it is read as a signed number
static size_t wide[kRanksMax];  ///< two of them are too many

static void counts_of_gathers(void) {
    weft_request* request = NULL;
    REFUSED(weft_gatherv(NULL, source, 1, target, one, NULL, WEFT_DOUBLE, 0), WEFT_ERR_ARGUMENT,
            "team");
    REFUSED(weft_gatherv(world, source, 1, target, one, NULL, WEFT_DOUBLE, size), WEFT_ERR_ARGUMENT,
            "root");
    REFUSED(weft_gatherv(world, source, 1, target, one, NULL, WEFT_DOUBLE, -1), WEFT_ERR_ARGUMENT,
            "root: -1");
    REFUSED(weft_gatherv(world, source, 1, target, NULL, NULL, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "counts");
    REFUSED(weft_gatherv(world, source, 1, target, bad, NULL, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "18446744073709551613");
    REFUSED(weft_gatherv(world, source, 1, target, one, bad, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "overflow");
    REFUSED(weft_gatherv(world, source, 1, NULL, one, NULL, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "null");
    REFUSED(weft_gatherv(world, source, 1, target, one, NULL, (weft_type)99, my_rank),
            WEFT_ERR_ARGUMENT, "type: 99");
    REFUSED(weft_gatherv(world, NULL, 1, target, one, NULL, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "null");
    REFUSED(weft_gatherv(world, source, (size_t)-1, target, one, NULL, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "count");
    REFUSED(weft_gatherv(world, source, 2, target, one, NULL, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "sends 2 elements to itself");
    REFUSED(weft_igatherv(world, source, 1, target, one, NULL, WEFT_DOUBLE, my_rank, NULL),
            WEFT_ERR_ARGUMENT, "request is NULL");
    REFUSED(weft_scatterv(world, source, one, NULL, target, 1, WEFT_DOUBLE, size),
            WEFT_ERR_ARGUMENT, "root");
    REFUSED(weft_scatterv(world, source, NULL, NULL, target, 1, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "counts");
    REFUSED(weft_scatterv(world, source, bad, NULL, target, 1, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "overflow");
    REFUSED(weft_scatterv(world, WEFT_IN_PLACE, one, NULL, target, 1, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "in is WEFT_IN_PLACE");
    REFUSED(weft_scatterv(world, source, one, NULL, NULL, 1, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "null");
    REFUSED(weft_scatterv_init(world, source, bad, NULL, target, 1, WEFT_DOUBLE, my_rank, &request),
            WEFT_ERR_ARGUMENT, "overflow");
    CHECK(request == NULL);
}

static void counts_of_all(void) {
    weft_request* request = NULL;
    REFUSED(weft_allgatherv(world, source, target, NULL, NULL, WEFT_DOUBLE), WEFT_ERR_ARGUMENT,
            "counts");
    REFUSED(weft_allgatherv(world, source, target, bad, NULL, WEFT_DOUBLE), WEFT_ERR_ARGUMENT,
            "overflow");
    REFUSED(weft_allgatherv(world, source, target, one, bad, WEFT_DOUBLE), WEFT_ERR_ARGUMENT,
            "overflow");
    REFUSED(weft_allgatherv(world, source, WEFT_IN_PLACE, one, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "out is WEFT_IN_PLACE");
    REFUSED(weft_allgatherv(world, source, NULL, one, NULL, WEFT_DOUBLE), WEFT_ERR_ARGUMENT,
            "null");
    REFUSED(weft_iallgatherv(world, source, target, bad, NULL, WEFT_DOUBLE, &request),
            WEFT_ERR_ARGUMENT, "overflow");

    REFUSED(weft_alltoallv(world, source, NULL, NULL, target, one, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "counts");
    REFUSED(weft_alltoallv(world, source, one, NULL, target, NULL, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "counts");
    REFUSED(weft_alltoallv(world, source, bad, NULL, target, one, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "in: 18446744073709551613");
    REFUSED(weft_alltoallv(world, source, one, NULL, target, bad, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "out: 18446744073709551613");
    REFUSED(weft_alltoallv(world, source, one, bad, target, one, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "overflow");
    REFUSED(weft_alltoallv(world, WEFT_IN_PLACE, one, NULL, target, one, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "WEFT_IN_PLACE");
    REFUSED(weft_alltoallv(world, source, one, NULL, source, one, NULL, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "overlap");
    CHECK(request == NULL);
}

static void counts_of_reductions(void) {
    weft_request* request = NULL;
    REFUSED(weft_reduce_scatterv(world, source, target, NULL, WEFT_DOUBLE, WEFT_SUM),
            WEFT_ERR_ARGUMENT, "counts");
    REFUSED(weft_reduce_scatterv(world, source, target, bad, WEFT_DOUBLE, WEFT_SUM),
            WEFT_ERR_ARGUMENT, "overflow");
    REFUSED(weft_reduce_scatterv(world, source, target, one, WEFT_DOUBLE, WEFT_BAND),
            WEFT_ERR_ARGUMENT, "band");
    REFUSED(weft_reduce_scatterv(world, source, target, one, WEFT_DOUBLE, (weft_op)77),
            WEFT_ERR_ARGUMENT, "op: 77");
    REFUSED(weft_reduce_scatterv(world, source, WEFT_IN_PLACE, one, WEFT_DOUBLE, WEFT_SUM),
            WEFT_ERR_ARGUMENT, "WEFT_IN_PLACE");
    REFUSED(weft_reduce_scatterv_init(world, source, target, bad, WEFT_DOUBLE, WEFT_SUM, &request),
            WEFT_ERR_ARGUMENT, "overflow");
    CHECK(request == NULL);
}

static void counts_together(void) {
    if (size == 1) return;
    REFUSED(weft_allgatherv(world, source, target, wide, NULL, WEFT_DOUBLE), WEFT_ERR_ARGUMENT,
            "overflow");
    REFUSED(weft_reduce_scatterv(world, source, target, wide, WEFT_DOUBLE, WEFT_SUM),
            WEFT_ERR_ARGUMENT, "overflow");
    REFUSED(weft_gatherv(world, source, 1, target, one, zero, WEFT_DOUBLE, my_rank),
            WEFT_ERR_ARGUMENT, "overlap");
    REFUSED(weft_allgatherv(world, source, target, one, zero, WEFT_DOUBLE), WEFT_ERR_ARGUMENT,
            "overlap");
    REFUSED(weft_alltoallv(world, source, one, follow, target, one, zero, WEFT_DOUBLE),
            WEFT_ERR_ARGUMENT, "overlap");
}

static void counts(void) {
    CHECK(size <= kRanksMax);
    for (int rank = 0; rank < size; ++rank) {
        one[rank] = 1;
        bad[rank] = follow[rank] = (size_t)rank;
        wide[rank] = SIZE_MAX / 2 / sizeof *source / 2 + 1;
    }
    bad[size - 1] = (size_t)-3;
    counts_of_gathers();
    counts_of_all();
    counts_of_reductions();
    counts_together();
}

// ---- Requests, operations, memory, teams -------------------------------------------------------------

static void requests(void) {
    double a[4] = {0};
    weft_request* request = NULL;
    REFUSED(weft_ibroadcast(world, a, 4, WEFT_DOUBLE, size, &request), WEFT_ERR_ARGUMENT, "root");
    REFUSED(weft_iallreduce(world, a, a + 1, 2, WEFT_DOUBLE, WEFT_SUM, &request), WEFT_ERR_ARGUMENT,
            "overlap");
    REFUSED(weft_broadcast_init(world, a, 4, WEFT_DOUBLE, size, &request), WEFT_ERR_ARGUMENT,
            "root");
    REFUSED(weft_allreduce_init(world, a, a, 4, WEFT_DOUBLE, WEFT_BXOR, &request),
            WEFT_ERR_ARGUMENT, "bxor");
    CHECK(request == NULL);
    DONE(weft_allreduce_init(world, a, a, 4, WEFT_DOUBLE, WEFT_MAX, &request));
    weft_request* stale = request;
    DONE(weft_wait(&request));
    CHECK(request == stale);
    DONE(weft_request_free(&request));
    CHECK(request == NULL);
    REFUSED(weft_start(stale), WEFT_ERR_ARGUMENT, "freed");
    REFUSED(weft_wait(&stale), WEFT_ERR_ARGUMENT, "freed");
    REFUSED(weft_request_free(&stale), WEFT_ERR_ARGUMENT, "freed");
    // Handles of one kind are not those of another.
    REFUSED(weft_start((weft_request*)world), WEFT_ERR_ARGUMENT, "weft_start");
    REFUSED(weft_barrier((weft_team*)runtime), WEFT_ERR_ARGUMENT, "weft_barrier");
    REFUSED(weft_finalize((weft_runtime*)world), WEFT_ERR_ARGUMENT, "runtime");
}

static void operations(void) {
    double a[4] = {0};
    weft_op op = WEFT_SUM;
    REFUSED(weft_op_free(&op), WEFT_ERR_ARGUMENT, "built in");
    for (int i = 0; i < 200; ++i) {
        DONE(weft_op_create(combine, NULL, 1, &op));
        weft_op stale = op;
        DONE(weft_op_free(&op));
        CHECK(op == WEFT_OP_NONE);
        REFUSED(weft_allreduce(world, a, a, 4, WEFT_DOUBLE, stale), WEFT_ERR_ARGUMENT, "freed");
        REFUSED(weft_op_free(&stale), WEFT_ERR_ARGUMENT, "freed");
    }
}

static void memory(void) {
    void* block = NULL;
    double here = 0;
    REFUSED(weft_alloc_aligned(world, 3, 8, &block), WEFT_ERR_ARGUMENT, "alignment is 3");
    REFUSED(weft_alloc_aligned(world, (size_t)4 << 20, 8, &block), WEFT_ERR_ARGUMENT, "alignment");
    REFUSED(weft_free(world, &here), WEFT_ERR_ARGUMENT, "heap");
    CHECK(weft_ptr(world, &here, 0) == NULL);
    CHECK(weft_ptr(world, &here, size) == NULL);
    CHECK(strstr(weft_last_error(), "peer") != NULL);
    REFUSED(weft_team_free(world), WEFT_ERR_ARGUMENT, "world");
    CHECK(block == NULL);
}

/// What all members refuse alike, since they find out together.
static void refused_together(void) {
    void* block = NULL;
    void* other = NULL;
    weft_team* half = NULL;
    REFUSED(weft_alloc(world, (size_t)1 << 40, &block), WEFT_ERR_MEMORY, "WEFT_HEAP_SIZE");
    REFUSED(weft_alloc(world, SIZE_MAX, &block), WEFT_ERR_MEMORY, "WEFT_HEAP_SIZE");
    check_team();
    if (size > 1) {
        REFUSED(weft_alloc(world, my_rank == 0 ? 64 : 128, &block), WEFT_ERR_ARGUMENT, "64 to 128");
        DONE(weft_alloc(world, 64, &block));
        DONE(weft_alloc(world, 64, &other));
        REFUSED(weft_free(world, my_rank == 0 ? block : other), WEFT_ERR_ARGUMENT, "different");
        DONE(weft_free(world, block));
        REFUSED(weft_free(world, block), WEFT_ERR_ARGUMENT, "free");
        DONE(weft_free(world, other));
    }
    check_team();
    DONE(weft_team_split(world, my_rank % 2, 0, &half));
    DONE(weft_alloc(half, 64, &block));
    REFUSED(weft_free(world, block), WEFT_ERR_ARGUMENT, "on this team");
    weft_team* stale = half;
    DONE(weft_team_free(half));
    REFUSED(weft_barrier(stale), WEFT_ERR_ARGUMENT, "the team has been freed");
    REFUSED(weft_team_free(stale), WEFT_ERR_ARGUMENT, "the team has been freed");
    REFUSED(weft_free(world, block), WEFT_ERR_ARGUMENT, "free");
    CHECK(weft_rank(stale) == -1 && weft_size(stale) == -1);
    check_team();
}

/// The first half of the ranks fills its table; then every member of the world is refused.
static void too_many_teams(void) {
    weft_team* teams[40];
    weft_team* more = NULL;
    int made = 0;
    const int fills = my_rank < (size + 1) / 2;
    weft_team* half = NULL;
    DONE(weft_team_split(world, fills, 0, &half));
    for (int i = 0; fills && i < 30; ++i, ++made) DONE(weft_team_split(half, 0, 0, &teams[made]));
    REFUSED(weft_team_split(world, fills, 0, &more), WEFT_ERR_MEMORY, "32");
    REFUSED(weft_team_split(world, fills ? 0 : -1, 0, &more), WEFT_ERR_MEMORY, "split");
    CHECK(more == NULL);
    check_team();
    while (made > 0) DONE(weft_team_free(teams[--made]));
    DONE(weft_team_split(world, fills, 0, &more));
    DONE(weft_team_free(more));
    DONE(weft_team_free(half));
    check_team();
}

static void after_the_end(void) {
    double x = 1;
    weft_request* request = NULL;
    weft_request* another = NULL;
    weft_team* team = NULL;
    void* block = NULL;
    DONE(weft_allreduce_init(world, WEFT_IN_PLACE, &x, 1, WEFT_DOUBLE, WEFT_SUM, &request));
    DONE(weft_start(request));
    DONE(weft_alloc(world, 64, &block));
    DONE(weft_finalize(runtime));
    CHECK(x == size);
    REFUSED(weft_finalize(runtime), WEFT_ERR_ARGUMENT, "finalized");
    REFUSED(weft_barrier(world), WEFT_ERR_ARGUMENT, "finalized");
    REFUSED(weft_team_split(world, 0, 0, &team), WEFT_ERR_ARGUMENT, "finalized");
    REFUSED(weft_alloc(world, 8, &block), WEFT_ERR_ARGUMENT, "finalized");
    REFUSED(weft_free(world, block), WEFT_ERR_ARGUMENT, "finalized");
    REFUSED(weft_start(request), WEFT_ERR_ARGUMENT, "finalized");
    REFUSED(weft_wait(&request), WEFT_ERR_ARGUMENT, "finalized");
    REFUSED(weft_ibarrier(world, &another), WEFT_ERR_ARGUMENT, "finalized");
    CHECK(weft_world(runtime) == NULL && weft_rank(world) == -1);
    weft_progress(runtime);
    CHECK(strstr(weft_last_error(), "finalized") != NULL);
}

int main(void) {
    CHECK(is_sentence(weft_last_error()) ||
          strcmp(weft_last_error(), "No call of this thread has failed.") == 0);
    if (weft_init(&runtime) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 1;
    }
    world = weft_world(runtime);
    my_rank = weft_rank(world);
    size = weft_size(world);
    for (int all = 1; all >= 0; --all) {
        void (*const groups[])(void) = {null_pointers, collectives, counts,
                                        requests,      operations,  memory};
        for (size_t group = 0; group < sizeof groups / sizeof *groups; ++group) {
            if (all || my_rank == size - 1) groups[group]();
            check_team();
        }
    }
    refused_together();
    too_many_teams();
    after_the_end();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
