// SPDX-License-Identifier: BSD-3-Clause
// blocks.c - a C program of real ranks: the calls that move blocks, reductions to a root and scans, in
// their blocking, started and persistent forms, apart and in place.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kCount = 5, kRanksMax = 16 };

static weft_team* world;
static int size;

/// Element i that a rank contributes.
static int32_t value(int rank, int i) {
    return 100 * rank + i;
}
static void fill(int32_t* vector, int count) {
    for (int i = 0; i < count; ++i) vector[i] = value(my_rank, i);
}
static int32_t sum(int ranks, int i) {
    int32_t result = 0;
    for (int rank = 0; rank < ranks; ++rank) result += value(rank, i);
    return result;
}

/// The three forms of a call, one after the other.
#define FORMS(name, ...)                                         \
    do {                                                         \
        weft_request* request_ = NULL;                           \
        DONE(weft_##name(world, __VA_ARGS__));                   \
        DONE(weft_i##name(world, __VA_ARGS__, &request_));       \
        DONE(weft_wait(&request_));                              \
        CHECK(request_ == NULL);                                 \
        DONE(weft_##name##_init(world, __VA_ARGS__, &request_)); \
        DONE(weft_start(request_));                              \
        DONE(weft_wait(&request_));                              \
        DONE(weft_request_free(&request_));                      \
    } while (0)

static void blocks(void) {
    int32_t in[kRanksMax * kCount];
    int32_t out[kRanksMax * kCount];
    const int all = size * kCount;
    int32_t* const own = out + my_rank * kCount;
    fill(in, all);
    memset(out, 0, sizeof out);
    FORMS(allgather, in, out, kCount, WEFT_INT32);
    for (int i = 0; i < all; ++i) CHECK(out[i] == value(i / kCount, i % kCount));
    memset(out, 0, sizeof out);
    fill(own, kCount);
    FORMS(allgather, WEFT_IN_PLACE, out, kCount, WEFT_INT32);
    for (int i = 0; i < all; ++i) CHECK(out[i] == value(i / kCount, i % kCount));

    memset(out, 0, sizeof out);
    FORMS(alltoall, in, out, kCount, WEFT_INT32);
    for (int i = 0; i < all; ++i) CHECK(out[i] == value(i / kCount, my_rank * kCount + i % kCount));
    fill(out, all);
    DONE(weft_alltoall(world, WEFT_IN_PLACE, out, kCount, WEFT_INT32));
    for (int i = 0; i < all; ++i) CHECK(out[i] == value(i / kCount, my_rank * kCount + i % kCount));

    FORMS(reduce_scatter, in, out, kCount, WEFT_INT32, WEFT_SUM);
    for (int i = 0; i < kCount; ++i) CHECK(out[i] == sum(size, my_rank * kCount + i));
    fill(out, all);
    DONE(weft_reduce_scatter(world, WEFT_IN_PLACE, out, kCount, WEFT_INT32, WEFT_SUM));
    for (int i = 0; i < kCount; ++i) CHECK(own[i] == sum(size, my_rank * kCount + i));
}

static void rooted(int root) {
    int32_t in[kRanksMax * kCount];
    int32_t out[kRanksMax * kCount];
    const int all = size * kCount;
    const int at_root = my_rank == root;
    fill(in, all);
    memset(out, 0, sizeof out);
    FORMS(gather, in, at_root ? out : NULL, kCount, WEFT_INT32, root);
    for (int i = 0; i < all && at_root; ++i) CHECK(out[i] == value(i / kCount, i % kCount));
    if (at_root) {
        memset(out, 0, sizeof out);
        fill(out + root * kCount, kCount);
        DONE(weft_gather(world, WEFT_IN_PLACE, out, kCount, WEFT_INT32, root));
        for (int i = 0; i < all; ++i) CHECK(out[i] == value(i / kCount, i % kCount));
    } else {
        DONE(weft_gather(world, in, NULL, kCount, WEFT_INT32, root));
    }

    memset(out, 0, sizeof out);
    FORMS(scatter, at_root ? in : NULL, out, kCount, WEFT_INT32, root);
    for (int i = 0; i < kCount; ++i) CHECK(out[i] == value(root, my_rank * kCount + i));
    DONE(weft_scatter(world, in, at_root ? WEFT_IN_PLACE : out, kCount, WEFT_INT32, root));
    for (int i = 0; i < all; ++i) CHECK(in[i] == value(my_rank, i));

    memset(out, 0, sizeof out);
    FORMS(reduce, in, at_root ? out : NULL, kCount, WEFT_INT32, WEFT_SUM, root);
    for (int i = 0; i < kCount && at_root; ++i) CHECK(out[i] == sum(size, i));
    fill(out, kCount);
    DONE(weft_reduce(world, at_root ? WEFT_IN_PLACE : out, at_root ? out : NULL, kCount, WEFT_INT32,
                     WEFT_SUM, root));
    for (int i = 0; i < kCount; ++i) CHECK(out[i] == (at_root ? sum(size, i) : value(my_rank, i)));
}

static void scans(void) {
    int32_t in[kCount];
    int32_t out[kCount];
    fill(in, kCount);
    FORMS(scan, in, out, kCount, WEFT_INT32, WEFT_SUM);
    for (int i = 0; i < kCount; ++i) CHECK(out[i] == sum(my_rank + 1, i));
    memset(out, 77, sizeof out);
    const int32_t untouched = out[0];
    FORMS(exscan, in, out, kCount, WEFT_INT32, WEFT_SUM);
    for (int i = 0; i < kCount; ++i) CHECK(out[i] == (my_rank == 0 ? untouched : sum(my_rank, i)));
    DONE(weft_scan(world, WEFT_IN_PLACE, in, kCount, WEFT_INT32, WEFT_SUM));
    for (int i = 0; i < kCount; ++i) CHECK(in[i] == sum(my_rank + 1, i));
    fill(in, kCount);
    DONE(weft_exscan(world, WEFT_IN_PLACE, in, kCount, WEFT_INT32, WEFT_SUM));
    for (int i = 0; i < kCount && my_rank > 0; ++i) CHECK(in[i] == sum(my_rank, i));
}

static void refusals(void) {
    int32_t vector[2 * kRanksMax];
    memset(vector, 0, sizeof vector);
    REFUSED(weft_gather(world, vector, vector + kRanksMax, 1, WEFT_INT32, size), WEFT_ERR_ARGUMENT,
            "root");
    REFUSED(weft_allgather(world, vector, WEFT_IN_PLACE, 1, WEFT_INT32), WEFT_ERR_ARGUMENT,
            "IN_PLACE");
    REFUSED(weft_allgather(world, NULL, vector, 1, WEFT_INT32), WEFT_ERR_ARGUMENT, "null");
    REFUSED(weft_alltoall(world, vector, vector, SIZE_MAX / 2, WEFT_INT32), WEFT_ERR_ARGUMENT,
            "overflow");
    REFUSED(weft_scan(world, vector, vector, 1, WEFT_DOUBLE, WEFT_BAND), WEFT_ERR_ARGUMENT, "band");
    REFUSED(weft_scatter(world, WEFT_IN_PLACE, vector, 1, WEFT_INT32, 0), WEFT_ERR_ARGUMENT,
            "in is WEFT_IN_PLACE");
    if (my_rank > 0) {
        REFUSED(weft_gather(world, WEFT_IN_PLACE, vector, 1, WEFT_INT32, 0), WEFT_ERR_ARGUMENT,
                "only the root");
        REFUSED(weft_scatter(world, vector, WEFT_IN_PLACE, 1, WEFT_INT32, 0), WEFT_ERR_ARGUMENT,
                "only the root");
    }
    if (size > 1)
        REFUSED(weft_alltoall(world, vector, vector + 1, 2, WEFT_INT32), WEFT_ERR_ARGUMENT,
                "overlap");
}

int main(void) {
    weft_runtime* runtime = NULL;
    if (weft_init(&runtime) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 1;
    }
    world = weft_world(runtime);
    my_rank = weft_rank(world);
    size = weft_size(world);
    CHECK(size <= kRanksMax);
    blocks();
    for (int root = 0; root < size; ++root) rooted(root);
    scans();
    refusals();
    DONE(weft_finalize(runtime));
    if (my_rank == 0 && wrong == 0) printf("%d ranks: all calls on blocks are right\n", size);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
