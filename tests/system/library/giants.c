// SPDX-License-Identifier: BSD-3-Clause
// giants.c - makes a broadcast and an alltoallv of very large blocks: counts, displacements and
// offsets beyond 32 bits fail if the library stores them in too few bits.
//
// usage: weft_giants BROADCAST_BYTES BLOCK_BYTES
//
// Every byte is compared with the samples of c_trial.h, which need no memory: each rank needs only
// the buffers of its call.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_trial.h"
#include "check.h"

/// Returns memory that is resident, so that a lack of memory fails here.
static unsigned char* allocate(size_t bytes) {
    unsigned char* const memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", my_rank, bytes);
        abort();
    }
    memset(memory, 0xA5, bytes);
    return memory;
}

static void broadcast(size_t bytes) {
    const int root = size - 1;
    unsigned char* const buffer = allocate(bytes);
    if (my_rank == root) sample_write(WEFT_UINT8, root, 0, bytes, buffer);
    DONE(weft_broadcast(world, buffer, bytes, WEFT_UINT8, root));
    CHECK(sample_is(WEFT_UINT8, root, 0, bytes, buffer));
    free(buffer);
}

/// Rank 0 sends a large block to the last rank; all other blocks are small. The output has the
/// block of rank 0 first and then the others in descending order, so all small blocks of the last
/// rank have large displacements.
static void alltoallv(size_t bytes) {
    enum { kRanksMax = 16, kSmall = 5 };
    size_t in_counts[kRanksMax];
    size_t out_counts[kRanksMax];
    size_t out_displacements[kRanksMax];
    size_t in_bytes = 0;
    size_t out_bytes = 0;
    const int last = size - 1;
    for (int rank = last; rank >= 0; --rank) {
        in_counts[rank] = my_rank == 0 && rank == last ? bytes : kSmall;
        out_counts[rank] = rank == 0 && my_rank == last ? bytes : kSmall;
        in_bytes += in_counts[rank];
    }
    out_displacements[0] = 0;
    for (int i = 0; i < size; ++i) {
        const int rank = i == 0 ? 0 : size - i;
        out_displacements[rank] = out_bytes;
        out_bytes += out_counts[rank];
    }
    unsigned char* const in = allocate(in_bytes);
    unsigned char* const out = allocate(out_bytes);
    size_t at = 0;
    for (int rank = 0; rank < size; ++rank) {
        sample_write(WEFT_UINT8, my_rank, rank, in_counts[rank], in + at);
        at += in_counts[rank];
    }
    DONE(
        weft_alltoallv(world, in, in_counts, NULL, out, out_counts, out_displacements, WEFT_UINT8));
    for (int rank = 0; rank < size; ++rank)
        CHECK(
            sample_is(WEFT_UINT8, rank, my_rank, out_counts[rank], out + out_displacements[rank]));
    free(in);
    free(out);
}

int main(int argc, char** argv) {
    if (argc != 3 || !join_job()) return 1;
    CHECK(size <= 16);
    const size_t broadcast_bytes = (size_t)strtoull(argv[1], NULL, 10);
    const size_t block_bytes = (size_t)strtoull(argv[2], NULL, 10);
    broadcast(broadcast_bytes);
    DONE(weft_barrier(world));  // no rank allocates before all have freed
    alltoallv(block_bytes);
    DONE(weft_finalize(runtime));
    return verdict("large blocks are right");
}
