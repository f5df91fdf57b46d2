// SPDX-License-Identifier: BSD-3-Clause
// wrapping_counts.c - calls in which the product of a count and an element size, a stride or a
// number of members exceeds 64 bits. All ranks must refuse them, no buffer may change, and the team
// must work after them.
//
// In commit 9d518da, which lacks the fix, weft_alltoall_strided(), the exchanges of a stencil, and
// strided puts and gets use the wrapped product.
#include <limits.h>
#include <stdint.h>

#include "check.h"
#include "weft/neighbors.h"

enum { kWords = 64 };
static double in[kWords];
static double out[kWords];
static size_t counts[kWords];
static weft_request* request;

/// Counts of doubles. Times 8 bytes, the first wraps to 8 and the second is 2^63 + 8. The third is
/// the largest count.
static const size_t kInvalidCounts[] = {((size_t)1 << 61) + 1, ((size_t)1 << 60) + 1, SIZE_MAX};

static void collectives(size_t n) {
    REFUSED(weft_broadcast(world, out, n, WEFT_DOUBLE, 0), "count");
    REFUSED(weft_allreduce(world, in, out, n, WEFT_DOUBLE, WEFT_SUM), "count");
    REFUSED(weft_reduce(world, in, out, n, WEFT_DOUBLE, WEFT_SUM, 0), "count");
    REFUSED(weft_gather(world, in, out, n, WEFT_DOUBLE, 0), "count");
    REFUSED(weft_scatter(world, in, out, n, WEFT_DOUBLE, 0), "count");
    REFUSED(weft_allgather(world, in, out, n, WEFT_DOUBLE), "count");
    REFUSED(weft_alltoall(world, in, out, n, WEFT_DOUBLE), "count");
    REFUSED(weft_reduce_scatter(world, in, out, n, WEFT_DOUBLE, WEFT_SUM), "count");
    REFUSED(weft_scan(world, in, out, n, WEFT_DOUBLE, WEFT_SUM), "count");
    REFUSED(weft_exscan(world, in, out, n, WEFT_DOUBLE, WEFT_SUM), "count");
    REFUSED(weft_iallreduce(world, in, out, n, WEFT_DOUBLE, WEFT_SUM, &request), "count");
    REFUSED(weft_ialltoall(world, in, out, n, WEFT_DOUBLE, &request), "count");
    REFUSED(weft_allreduce_init(world, in, out, n, WEFT_DOUBLE, WEFT_SUM, &request), "count");
    REFUSED(weft_alltoall_init(world, in, out, n, WEFT_DOUBLE, &request), "count");
    for (int i = 0; i < kWords; ++i) counts[i] = n;
    REFUSED(weft_allgatherv(world, in, out, counts, NULL, WEFT_DOUBLE), "overflow");
    REFUSED(weft_alltoallv(world, in, counts, NULL, out, counts, NULL, WEFT_DOUBLE), "overflow");
    REFUSED(weft_reduce_scatterv(world, in, out, counts, WEFT_DOUBLE, WEFT_SUM), "overflow");
    if (my_rank == 0) {
        REFUSED(weft_gatherv(world, in, 0, out, counts, NULL, WEFT_DOUBLE, 0), "overflow");
        REFUSED(weft_scatterv(world, in, counts, NULL, out, 0, WEFT_DOUBLE, 0), "overflow");
    }
    REFUSED(weft_collect(world, in, n, out, NULL, WEFT_DOUBLE), "overflow");
    REFUSED(weft_alltoall_strided(world, in, 1, out, 1, n, WEFT_DOUBLE), "count");
    REFUSED(weft_alltoall_strided(world, in, n, out, 1, 1, WEFT_DOUBLE), "count");
    REFUSED(weft_alltoall_strided(world, in, 1, out, n, 1, WEFT_DOUBLE), "count");
    if (size > 1) {
        // One block is valid; the bytes of all blocks wrap.
        const size_t block = ((size_t)1 << 61) / (size_t)size + 1;
        REFUSED(weft_alltoall(world, in, out, block, WEFT_DOUBLE), "count");
        REFUSED(weft_alltoall_strided(world, in, 1, out, 1, block, WEFT_DOUBLE), "count");
    }
}

static void neighbors(size_t n) {
    weft_neighbors* ring = NULL;
    weft_stencil* stencil = NULL;
    const int extent = size;
    const int periodic = 1;
    DONE(weft_neighbors_on_grid(world, 1, &extent, &periodic, &ring));
    REFUSED(weft_neighbor_alltoall(ring, in, out, n, WEFT_DOUBLE), "overflow");
    REFUSED(weft_neighbor_allgather(ring, in, out, n, WEFT_DOUBLE), "overflow");
    REFUSED(weft_neighbor_alltoallv(ring, in, counts, NULL, out, counts, NULL, WEFT_DOUBLE),
            "overflow");
    REFUSED(weft_neighbor_allgatherv(ring, in, n, out, counts, NULL, WEFT_DOUBLE), "overflow");
    DONE(weft_neighbors_free(&ring));
    DONE(weft_stencil_create(world, 1, &extent, &periodic, 0, 1, &stencil));
    REFUSED(weft_stencil_alltoall(stencil, in, out, n, WEFT_DOUBLE), "count");
    REFUSED(weft_stencil_allgather(stencil, in, out, n, WEFT_DOUBLE), "count");
    DONE(weft_stencil_free(&stencil));
}

static void memory(size_t n) {
    void* block = NULL;
    REFUSED_AS(weft_calloc(world, n, 8, &block), WEFT_ERR_MEMORY, "bytes");
    REFUSED_AS(weft_alloc(world, SIZE_MAX, &block), WEFT_ERR_MEMORY, "bytes");
    CHECK(block == NULL);
}

static void one_sided(size_t n) {
    const int peer = (my_rank + 1) % size;
    void* block = NULL;
    DONE(weft_alloc(world, 4096, &block));
    char* const symmetric = block;
    memset(symmetric, 1, 4096);
    DONE(weft_barrier(world));
    const size_t past = SIZE_MAX - 7;  // bytes: the end of the range wraps to below its begin
    REFUSED(weft_put(world, symmetric + 16, in, past, peer), "dst");
    REFUSED(weft_put_nbi(world, symmetric + 16, in, past, peer), "dst");
    REFUSED(weft_get(world, in, symmetric + 16, past, peer), "src");
    REFUSED(weft_get_nbi(world, in, symmetric + 16, past, peer), "src");
    REFUSED(weft_iget(world, in, symmetric + 16, past, peer, &request), "src");
    REFUSED(weft_put_signal(world, symmetric + 16, in, past, block, 1, 0, peer), "dst");
    REFUSED(weft_put_signal_nbi(world, symmetric + 16, in, past, block, 1, 0, peer), "dst");
    const ptrdiff_t wide = PTRDIFF_MIN / 8;  // stride: 16 strides wrap to 0
    REFUSED(weft_put_strided(world, symmetric, wide, in, 8, 8, 17, peer), "dst");
    REFUSED(weft_put_strided(world, symmetric, 0, in, 0, 8, n, peer), "dst");
    REFUSED(weft_put_strided(world, symmetric, 0, in, wide, 8, 17, peer), "src");
    REFUSED(weft_get_strided(world, in, 8, symmetric, wide, 8, 17, peer), "src");
    REFUSED(weft_get_strided(world, in, 0, symmetric, 0, 8, n, peer), "src");
    REFUSED(weft_get_strided(world, in, wide, symmetric, 0, 8, 17, peer), "dst");
    const weft_words words = {
        .words = block, .count = n, .type = WEFT_INT64, .cmp = WEFT_NE, .values = in};
    size_t index = 0;
    REFUSED(weft_wait_all(world, &words, 0), "count");
    REFUSED(weft_wait_any(world, &words, 0, &index), "count");
    DONE(weft_barrier(world));
    for (int i = 0; i < 4096; ++i) CHECK(symmetric[i] == 1);
    DONE(weft_free(world, block));
}

int main(void) {
    if (!join_job()) return 3;
    for (int i = 0; i < 3; ++i) {
        collectives(kInvalidCounts[i]);
        neighbors(kInvalidCounts[i]);
    }
    memory(kInvalidCounts[0]);
    one_sided(kInvalidCounts[0]);
    for (int i = 0; i < kWords; ++i) CHECK(in[i] == 0 && out[i] == 0);
    double sum = 1;
    DONE(weft_allreduce(world, WEFT_IN_PLACE, &sum, 1, WEFT_DOUBLE, WEFT_SUM));
    CHECK(sum == size);
    DONE(weft_finalize(runtime));
    return verdict("all counts that wrap are refused");
}
