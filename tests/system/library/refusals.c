// SPDX-License-Identifier: BSD-3-Clause
// refusals.c - makes invalid calls of the C interface, which must be refused with the right status
// and message. After each group of calls the team must work as before. First all ranks make the
// invalid calls, then only the last rank does.
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

/// User operation for calls that are refused; no call applies it.
static void combine(const void* in, void* inout, size_t count, void* arg) {
    (void)in, (void)inout, (void)count, (void)arg;
}

/// Checks that the team gives right results in started, short and long calls.
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
    REFUSED(weft_init(NULL), "out is NULL");
    REFUSED(weft_finalize(NULL), "runtime is NULL");
    REFUSED(weft_on_progress(NULL, NULL, NULL), "runtime is NULL");
    weft_progress(NULL);
    CHECK(strstr(weft_last_error(), "weft_progress: the runtime is NULL.") != NULL);
    CHECK(weft_world(NULL) == NULL && weft_rank(NULL) == -1 && weft_size(NULL) == -1);
    CHECK(strstr(weft_last_error(), "weft_size") != NULL);
    CHECK(weft_ptr(NULL, &x, 0) == NULL);
    REFUSED(weft_team_split(NULL, 0, 0, &team), "team is NULL");
    REFUSED(weft_team_split(world, 0, 0, NULL), "out is NULL");
    REFUSED(weft_team_split_node(world, NULL), "out is NULL");
    REFUSED(weft_team_free(NULL), "team is NULL");
    REFUSED(weft_alloc(NULL, 8, &memory), "team is NULL");
    REFUSED(weft_alloc(world, 8, NULL), "out is NULL");
    REFUSED(weft_barrier(NULL), "team is NULL");
    REFUSED(weft_broadcast(NULL, &x, 1, WEFT_DOUBLE, 0), "team is NULL");
    REFUSED(weft_broadcast(world, NULL, 1, WEFT_DOUBLE, 0), "null");
    REFUSED(weft_allreduce(world, NULL, &x, 1, WEFT_DOUBLE, WEFT_SUM), "null");
    REFUSED(weft_allreduce(world, &x, NULL, 1, WEFT_DOUBLE, WEFT_SUM), "null");
    REFUSED(weft_op_create(NULL, NULL, 1, &op), "fn is NULL");
    REFUSED(weft_op_create(combine, NULL, 1, NULL), "out is NULL");
    REFUSED(weft_op_free(NULL), "op is NULL");
    REFUSED(weft_ibarrier(world, NULL), "request is NULL");
    REFUSED(weft_barrier_init(world, NULL), "request is NULL");
    REFUSED(weft_start(NULL), "request is NULL");
    REFUSED(weft_test(NULL, &done), "request is NULL");
    REFUSED(weft_test(&request, NULL), "done is NULL");
    REFUSED(weft_wait(NULL), "request is NULL");
    REFUSED(weft_request_free(NULL), "request is NULL");
    DONE(weft_wait(&request));
    DONE(weft_test(&request, &done));
    CHECK(done == 1);
    DONE(weft_request_free(&request));
}

static void collectives(void) {
    double a[16] = {0};
    double b[16] = {0};
    // WEFT_IN_PLACE as an output argument, which is not const.
    const void* const constant = WEFT_IN_PLACE;
    void* in_place;
    memcpy(&in_place, &constant, sizeof in_place);
    REFUSED(weft_broadcast(world, a, 4, WEFT_DOUBLE, size), "root");
    REFUSED(weft_broadcast(world, a, 4, WEFT_DOUBLE, -1), "root: -1");
    REFUSED(weft_broadcast(world, in_place, 4, WEFT_DOUBLE, 0), "WEFT_IN_PLACE");
    REFUSED(weft_allreduce(world, a, in_place, 4, WEFT_DOUBLE, WEFT_SUM), "out is WEFT_IN_PLACE");
    REFUSED(weft_allreduce(world, a, a + 1, 8, WEFT_DOUBLE, WEFT_SUM), "overlap");
    REFUSED(weft_allreduce(world, a + 7, a, 8, WEFT_DOUBLE, WEFT_SUM), "overlap");
    REFUSED(weft_allreduce(world, a, b, SIZE_MAX, WEFT_DOUBLE, WEFT_SUM), "count");
    REFUSED(weft_allreduce(world, a, b, SIZE_MAX / 8 + 2, WEFT_DOUBLE, WEFT_SUM), "overflow");
    REFUSED(weft_broadcast(world, a, SIZE_MAX / 2 + 1, WEFT_INT8, 0), "count");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_BAND), "band");
    REFUSED(weft_allreduce(world, a, b, 4, (weft_type)99, WEFT_SUM), "type: 99");
    REFUSED(weft_broadcast(world, a, 4, (weft_type)-1, 0), "type: -1");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, (weft_op)77), "op: 77");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_OP_NONE), "NONE");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_OP_RANGE), "op");
    REFUSED(weft_allreduce(world, a, b, 4, WEFT_DOUBLE, WEFT_MINLOC), "minloc");
    REFUSED(weft_broadcast(world, a, 1, (weft_type)(WEFT_INT64_INT64 + 1), 0), "type: 24");
}

enum { kRanksMax = 16 };

static void block_collectives(void) {
    int32_t buffer[2 * kRanksMax];
    memset(buffer, 0, sizeof buffer);
    REFUSED(weft_gather(world, buffer, buffer + kRanksMax, 1, WEFT_INT32, size), "root");
    REFUSED(weft_allgather(world, buffer, WEFT_IN_PLACE, 1, WEFT_INT32), "IN_PLACE");
    REFUSED(weft_allgather(world, NULL, buffer, 1, WEFT_INT32), "null");
    REFUSED(weft_alltoall(world, buffer, buffer, SIZE_MAX / 2, WEFT_INT32), "overflow");
    REFUSED(weft_scan(world, buffer, buffer, 1, WEFT_DOUBLE, WEFT_BAND), "band");
    REFUSED(weft_scatter(world, WEFT_IN_PLACE, buffer, 1, WEFT_INT32, 0), "in is WEFT_IN_PLACE");
    if (my_rank > 0) {
        REFUSED(weft_gather(world, WEFT_IN_PLACE, buffer, 1, WEFT_INT32, 0), "only the root");
        REFUSED(weft_scatter(world, buffer, WEFT_IN_PLACE, 1, WEFT_INT32, 0), "only the root");
    }
    if (size > 1) REFUSED(weft_alltoall(world, buffer, buffer + 1, 2, WEFT_INT32), "overlap");
}

static void operations_of_types(void) {
    double a[8] = {0};
    double b[8] = {0};
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_CFLOAT, WEFT_MIN),
            "min does not exist for cfloat, which has sum prod");
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_BOOL, WEFT_SUM),
            "sum does not exist for bool, which has land lor lxor band bor bxor");
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_DOUBLE_INT, WEFT_SUM),
            "sum does not exist for double_int, which has minloc maxloc");
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_DOUBLE, WEFT_MAXLOC),
            "maxloc does not exist for double, which has sum prod min max land lor lxor");
    REFUSED(weft_scan(world, a, b, 1, WEFT_FLOAT16, WEFT_BXOR), "float16");
    char rank[16];
    snprintf(rank, sizeof rank, "rank %d", my_rank);
    REFUSED(weft_allreduce(world, a, b, 1, WEFT_INT8, WEFT_MINLOC), rank);
}

// ---- Counts that a rank refuses without other ranks ---------------------------------------------

static double source[kRanksMax];
static double target[kRanksMax];
static size_t one[kRanksMax];
static size_t zero[kRanksMax];
static size_t packed[kRanksMax];  ///< displacements of blocks of one element
static size_t bad[kRanksMax];     ///< the last count is -3, converted to 2^64 - 3
static size_t wide[kRanksMax];    ///< each count is valid, but the sum of two counts is too large

static void counts_of_gathers(void) {
    weft_request* request = NULL;
    REFUSED(weft_gatherv(NULL, source, 1, target, one, NULL, WEFT_DOUBLE, 0), "team");
    REFUSED(weft_gatherv(world, source, 1, target, one, NULL, WEFT_DOUBLE, size), "root");
    REFUSED(weft_gatherv(world, source, 1, target, one, NULL, WEFT_DOUBLE, -1), "root: -1");
    REFUSED(weft_gatherv(world, source, 1, target, NULL, NULL, WEFT_DOUBLE, my_rank), "counts");
    REFUSED(weft_gatherv(world, source, 1, target, bad, NULL, WEFT_DOUBLE, my_rank),
            "18446744073709551613");
    REFUSED(weft_gatherv(world, source, 1, target, one, bad, WEFT_DOUBLE, my_rank), "overflow");
    REFUSED(weft_gatherv(world, source, 1, NULL, one, NULL, WEFT_DOUBLE, my_rank), "null");
    REFUSED(weft_gatherv(world, source, 1, target, one, NULL, (weft_type)99, my_rank), "type: 99");
    REFUSED(weft_gatherv(world, NULL, 1, target, one, NULL, WEFT_DOUBLE, my_rank), "null");
    REFUSED(weft_gatherv(world, source, (size_t)-1, target, one, NULL, WEFT_DOUBLE, my_rank),
            "count");
    REFUSED(weft_gatherv(world, source, 2, target, one, NULL, WEFT_DOUBLE, my_rank),
            "sends 2 elements to itself");
    REFUSED(weft_igatherv(world, source, 1, target, one, NULL, WEFT_DOUBLE, my_rank, NULL),
            "request is NULL");
    REFUSED(weft_scatterv(world, source, one, NULL, target, 1, WEFT_DOUBLE, size), "root");
    REFUSED(weft_scatterv(world, source, NULL, NULL, target, 1, WEFT_DOUBLE, my_rank), "counts");
    REFUSED(weft_scatterv(world, source, bad, NULL, target, 1, WEFT_DOUBLE, my_rank), "overflow");
    REFUSED(weft_scatterv(world, WEFT_IN_PLACE, one, NULL, target, 1, WEFT_DOUBLE, my_rank),
            "in is WEFT_IN_PLACE");
    REFUSED(weft_scatterv(world, source, one, NULL, NULL, 1, WEFT_DOUBLE, my_rank), "null");
    REFUSED(weft_scatterv_init(world, source, bad, NULL, target, 1, WEFT_DOUBLE, my_rank, &request),
            "overflow");
    CHECK(request == NULL);
}

static void counts_of_all(void) {
    weft_request* request = NULL;
    REFUSED(weft_allgatherv(world, source, target, NULL, NULL, WEFT_DOUBLE), "counts");
    REFUSED(weft_allgatherv(world, source, target, bad, NULL, WEFT_DOUBLE), "overflow");
    REFUSED(weft_allgatherv(world, source, target, one, bad, WEFT_DOUBLE), "overflow");
    REFUSED(weft_allgatherv(world, source, WEFT_IN_PLACE, one, NULL, WEFT_DOUBLE),
            "out is WEFT_IN_PLACE");
    REFUSED(weft_allgatherv(world, source, NULL, one, NULL, WEFT_DOUBLE), "null");
    REFUSED(weft_iallgatherv(world, source, target, bad, NULL, WEFT_DOUBLE, &request), "overflow");

    REFUSED(weft_alltoallv(world, source, NULL, NULL, target, one, NULL, WEFT_DOUBLE), "counts");
    REFUSED(weft_alltoallv(world, source, one, NULL, target, NULL, NULL, WEFT_DOUBLE), "counts");
    REFUSED(weft_alltoallv(world, source, bad, NULL, target, one, NULL, WEFT_DOUBLE),
            "in: 18446744073709551613");
    REFUSED(weft_alltoallv(world, source, one, NULL, target, bad, NULL, WEFT_DOUBLE),
            "out: 18446744073709551613");
    REFUSED(weft_alltoallv(world, source, one, bad, target, one, NULL, WEFT_DOUBLE), "overflow");
    REFUSED(weft_alltoallv(world, WEFT_IN_PLACE, one, NULL, target, one, NULL, WEFT_DOUBLE),
            "WEFT_IN_PLACE");
    REFUSED(weft_alltoallv(world, source, one, NULL, source, one, NULL, WEFT_DOUBLE), "overlap");
    CHECK(request == NULL);
}

static void counts_of_reductions(void) {
    weft_request* request = NULL;
    REFUSED(weft_reduce_scatterv(world, source, target, NULL, WEFT_DOUBLE, WEFT_SUM), "counts");
    REFUSED(weft_reduce_scatterv(world, source, target, bad, WEFT_DOUBLE, WEFT_SUM), "overflow");
    REFUSED(weft_reduce_scatterv(world, source, target, one, WEFT_DOUBLE, WEFT_BAND), "band");
    REFUSED(weft_reduce_scatterv(world, source, target, one, WEFT_DOUBLE, (weft_op)77), "op: 77");
    REFUSED(weft_reduce_scatterv(world, source, WEFT_IN_PLACE, one, WEFT_DOUBLE, WEFT_SUM),
            "WEFT_IN_PLACE");
    REFUSED(weft_reduce_scatterv_init(world, source, target, bad, WEFT_DOUBLE, WEFT_SUM, &request),
            "overflow");
    CHECK(request == NULL);
}

static void sums_of_counts(void) {
    if (size == 1) return;
    REFUSED(weft_allgatherv(world, source, target, wide, NULL, WEFT_DOUBLE), "overflow");
    REFUSED(weft_reduce_scatterv(world, source, target, wide, WEFT_DOUBLE, WEFT_SUM), "overflow");
    REFUSED(weft_gatherv(world, source, 1, target, one, zero, WEFT_DOUBLE, my_rank), "overlap");
    REFUSED(weft_allgatherv(world, source, target, one, zero, WEFT_DOUBLE), "overlap");
    REFUSED(weft_alltoallv(world, source, one, packed, target, one, zero, WEFT_DOUBLE), "overlap");
}

static void counts(void) {
    CHECK(size <= kRanksMax);
    for (int rank = 0; rank < size; ++rank) {
        one[rank] = 1;
        bad[rank] = packed[rank] = (size_t)rank;
        // The bytes are just above a quarter of the address space; the limit is half of it.
        wide[rank] = SIZE_MAX / 2 / sizeof *source / 2 + 1;
    }
    bad[size - 1] = (size_t)-3;
    counts_of_gathers();
    counts_of_all();
    counts_of_reductions();
    sums_of_counts();
}

// ---- Requests, operations, memory, teams --------------------------------------------------------

static void requests(void) {
    double a[4] = {0};
    weft_request* request = NULL;
    REFUSED(weft_ibroadcast(world, a, 4, WEFT_DOUBLE, size, &request), "root");
    REFUSED(weft_iallreduce(world, a, a + 1, 2, WEFT_DOUBLE, WEFT_SUM, &request), "overlap");
    REFUSED(weft_broadcast_init(world, a, 4, WEFT_DOUBLE, size, &request), "root");
    REFUSED(weft_allreduce_init(world, a, a, 4, WEFT_DOUBLE, WEFT_BXOR, &request), "bxor");
    CHECK(request == NULL);
    DONE(weft_allreduce_init(world, a, a, 4, WEFT_DOUBLE, WEFT_MAX, &request));
    weft_request* stale = request;
    DONE(weft_wait(&request));
    CHECK(request == stale);
    DONE(weft_request_free(&request));
    CHECK(request == NULL);
    REFUSED(weft_start(stale), "freed");
    REFUSED(weft_wait(&stale), "freed");
    REFUSED(weft_request_free(&stale), "freed");
    // Handles of another kind of object.
    REFUSED(weft_start((weft_request*)world), "weft_start");
    REFUSED(weft_barrier((weft_team*)runtime), "weft_barrier");
    REFUSED(weft_finalize((weft_runtime*)world), "runtime");
}

static void operations(void) {
    double a[4] = {0};
    weft_op op = WEFT_SUM;
    REFUSED(weft_op_free(&op), "built in");
    for (int i = 0; i < 200; ++i) {
        DONE(weft_op_create(combine, NULL, 1, &op));
        weft_op stale = op;
        DONE(weft_op_free(&op));
        CHECK(op == WEFT_OP_NONE);
        REFUSED(weft_allreduce(world, a, a, 4, WEFT_DOUBLE, stale), "freed");
        REFUSED(weft_op_free(&stale), "freed");
    }
}

static void memory(void) {
    void* block = NULL;
    double here = 0;
    REFUSED(weft_alloc_aligned(world, 3, 8, &block), "alignment is 3");
    REFUSED(weft_alloc_aligned(world, (size_t)1 << 40, 8, &block), "alignment");
    REFUSED(weft_free(world, &here), "heap");
    CHECK(weft_ptr(world, &here, 0) == NULL);
    CHECK(weft_ptr(world, &here, size) == NULL);
    CHECK(strstr(weft_last_error(), "peer") != NULL);
    REFUSED(weft_team_free(world), "world");
    CHECK(block == NULL);
}

/// Makes calls whose arguments the members compare, so that all of them refuse.
static void refused_by_all(void) {
    void* block = NULL;
    void* other = NULL;
    weft_team* half = NULL;
    REFUSED_AS(weft_alloc(world, (size_t)1 << 40, &block), WEFT_ERR_MEMORY, "WEFT_HEAP_SIZE");
    REFUSED_AS(weft_alloc(world, SIZE_MAX, &block), WEFT_ERR_MEMORY, "WEFT_HEAP_SIZE");
    check_team();
    if (size > 1) {
        REFUSED(weft_alloc(world, my_rank == 0 ? 64 : 128, &block), "64 to 128");
        DONE(weft_alloc(world, 64, &block));
        DONE(weft_alloc(world, 64, &other));
        REFUSED(weft_free(world, my_rank == 0 ? block : other), "different");
        DONE(weft_free(world, block));
        REFUSED(weft_free(world, block), "free");
        DONE(weft_free(world, other));
    }
    check_team();
    DONE(weft_team_split(world, my_rank % 2, 0, &half));
    DONE(weft_alloc(half, 64, &block));
    REFUSED(weft_free(world, block), "on this team");
    weft_team* stale = half;
    DONE(weft_team_free(half));
    REFUSED(weft_barrier(stale), "the team has been freed");
    REFUSED(weft_team_free(stale), "the team has been freed");
    REFUSED(weft_free(world, block), "free");
    CHECK(weft_rank(stale) == -1 && weft_size(stale) == -1);
    check_team();
}

/// A rank can be in 32 teams. The first half of the ranks makes 30 teams beside the world and
/// `half`. Then a split that needs a team on these ranks must be refused on all ranks.
static void too_many_teams(void) {
    weft_team* teams[40];
    weft_team* more = NULL;
    int made = 0;
    const int in_first_half = my_rank < (size + 1) / 2;
    weft_team* half = NULL;
    DONE(weft_team_split(world, in_first_half, 0, &half));
    for (int i = 0; in_first_half && i < 30; ++i, ++made)
        DONE(weft_team_split(half, 0, 0, &teams[made]));
    REFUSED_AS(weft_team_split(world, in_first_half, 0, &more), WEFT_ERR_MEMORY, "32");
    REFUSED_AS(weft_team_split(world, in_first_half ? 0 : -1, 0, &more), WEFT_ERR_MEMORY, "split");
    CHECK(more == NULL);
    check_team();
    while (made > 0) DONE(weft_team_free(teams[--made]));
    DONE(weft_team_split(world, in_first_half, 0, &more));
    DONE(weft_team_free(more));
    DONE(weft_team_free(half));
    check_team();
}

enum { kHandles = 1 << 16 };
static weft_request* unused[kHandles];  ///< requests that use up the handles
static int unused_count = 0;

/// Makes requests until no handle is available.
static void use_all_handles(void) {
    while (unused_count < kHandles && weft_barrier_init(world, &unused[unused_count]) == WEFT_OK)
        ++unused_count;
    CHECK(unused_count < kHandles && strstr(weft_last_error(), "which is the maximum") != NULL);
}
static void free_handles(int count) {
    for (int i = 0; i < count; ++i) DONE(weft_request_free(&unused[--unused_count]));
}

/// Checks that weft_team_split_2d() gives back the regions of both new teams if it finds no handle
/// for one of them. A rank has 31 regions, so 20 calls that kept two regions would use them up. The
/// library reuses a freed handle only after 64 others have been freed. After the first three calls
/// here, no handle is available, and each further free makes one available. So the first series of
/// splits finds no handle, and the second series finds one, for the row.
static void too_many_handles(void) {
    weft_team* row = NULL;
    weft_team* column = NULL;
    use_all_handles();
    free_handles(65);
    use_all_handles();
    for (int available = 0; available < 2; ++available) {
        for (int i = 0; i < 20; ++i) {
            REFUSED_AS(weft_team_split_2d(world, 2, &row, &column), WEFT_ERR_MEMORY, "the maximum");
            DONE(weft_barrier(world));
        }
        free_handles(1);
    }
    CHECK(row == NULL && column == NULL);
    DONE(weft_team_split_2d(world, 2, &row, &column));
    DONE(weft_team_free(row));
    DONE(weft_team_free(column));
    free_handles(unused_count);
    check_team();
}

static void after_finalize(void) {
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
    REFUSED(weft_finalize(runtime), "finalized");
    REFUSED(weft_barrier(world), "finalized");
    REFUSED(weft_team_split(world, 0, 0, &team), "finalized");
    REFUSED(weft_alloc(world, 8, &block), "finalized");
    REFUSED(weft_free(world, block), "finalized");
    REFUSED(weft_start(request), "finalized");
    REFUSED(weft_wait(&request), "finalized");
    REFUSED(weft_ibarrier(world, &another), "finalized");
    CHECK(weft_world(runtime) == NULL && weft_rank(world) == -1);
    weft_progress(runtime);
    CHECK(strstr(weft_last_error(), "finalized") != NULL);
}

int main(void) {
    CHECK(is_error_message(weft_last_error()) ||
          strcmp(weft_last_error(), "No call of this thread has failed.") == 0);
    if (!join_job()) return 1;
    for (int all_ranks = 1; all_ranks >= 0; --all_ranks) {
        void (*const groups[])(void) = {null_pointers,       collectives, block_collectives,
                                        operations_of_types, counts,      requests,
                                        operations,          memory};
        for (size_t group = 0; group < sizeof groups / sizeof *groups; ++group) {
            if (all_ranks || my_rank == size - 1) groups[group]();
            check_team();
        }
    }
    refused_by_all();
    too_many_teams();
    too_many_handles();
    after_finalize();
    return verdict("");
}
