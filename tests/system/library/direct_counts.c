// SPDX-License-Identifier: BSD-3-Clause
// direct_counts.c - repeats one call with the same buffers, without checks of the result.
// library_test.cpp runs it with WEFT_STATS=1, and reads from the table how many bytes the ranks
// have accessed in each other's memory.
//
// usage: weft_direct_counts COLLECTIVE DOUBLES CALLS malloc|weft_alloc
//
// DOUBLES is the number of elements of a block or, for collectives without blocks, of a buffer. The
// last argument selects how the buffers are allocated.
#include <stdlib.h>
#include <string.h>

#include "check.h"

static double* in;
static double* out;

/// Makes the named call; any other name means alltoall.
static weft_status call(const char* collective, size_t count) {
    const weft_type type = WEFT_DOUBLE;
    if (strcmp(collective, "broadcast") == 0) return weft_broadcast(world, in, count, type, 0);
    if (strcmp(collective, "allreduce") == 0)
        return weft_allreduce(world, in, out, count, type, WEFT_SUM);
    if (strcmp(collective, "reduce_scatter") == 0)
        return weft_reduce_scatter(world, in, out, count, type, WEFT_SUM);
    if (strcmp(collective, "gather") == 0) return weft_gather(world, in, out, count, type, 0);
    if (strcmp(collective, "scatter") == 0) return weft_scatter(world, in, out, count, type, 0);
    if (strcmp(collective, "allgather") == 0) return weft_allgather(world, in, out, count, type);
    return weft_alltoall(world, in, out, count, type);
}

int main(int argc, char** argv) {
    if (argc != 5 || !join_job()) return 1;
    const size_t count = (size_t)strtoull(argv[2], NULL, 10);
    const int calls = atoi(argv[3]);
    const int symmetric = strcmp(argv[4], "weft_alloc") == 0;
    const size_t bytes = (size_t)size * count * sizeof(double);
    if (symmetric) {
        DONE(weft_alloc(world, bytes, (void**)&in));
        DONE(weft_alloc(world, bytes, (void**)&out));
    } else {
        in = malloc(bytes);
        out = malloc(bytes);
    }
    CHECK(in != NULL && out != NULL);
    for (size_t i = 0; i < (size_t)size * count; ++i) in[i] = 1 + my_rank;
    memset(out, 0, bytes);
    for (int i = 0; i < calls; ++i) DONE(call(argv[1], count));
    DONE(weft_finalize(runtime));
    if (!symmetric) {
        free(in);
        free(out);
    }
    return verdict("");
}
