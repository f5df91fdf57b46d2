// SPDX-License-Identifier: BSD-3-Clause
// giants.c - a C program of real ranks: a broadcast, and a block of alltoallv, of as many bytes as the arguments
// say. Counts, displacements and offsets beyond 32 bits show where something is kept in too few of them.
//
// usage: weft_giants BROADCAST_BYTES BLOCK_BYTES
//
// Each word of a vector holds a multiple of its number, so that one at another's place is seen. Every
// byte is checked; only the caller's own buffers are as large as the data.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static weft_team* world;
static int size;

static uint64_t word_at(uint64_t seed, size_t word) {
    return (seed + word) * 0x9e3779b97f4a7c15u;
}

static unsigned char* allocate(size_t bytes) {
    unsigned char* const memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", my_rank, bytes);
        abort();
    }
    memset(memory, 0xA5, bytes);
    return memory;
}

/// The last word may be a part of one.
static void fill(unsigned char* to, size_t bytes, uint64_t seed) {
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const uint64_t word = word_at(seed, at / sizeof word);
        const size_t rest = bytes - at;
        memcpy(to + at, &word, rest < sizeof word ? rest : sizeof word);
    }
}

/// How many words are not what fill() writes.
static size_t count_different(const unsigned char* in, size_t bytes, uint64_t seed) {
    size_t different = 0;
    const size_t whole = bytes / sizeof(uint64_t);
    for (size_t at = 0; at < whole; ++at) {
        uint64_t word;
        memcpy(&word, in + at * sizeof word, sizeof word);
        different += word != word_at(seed, at);
    }
    const uint64_t last = word_at(seed, whole);
    return different + (memcmp(in + whole * sizeof last, &last, bytes % sizeof last) != 0);
}

static void broadcast(size_t bytes) {
    const int root = size - 1;
    unsigned char* const buffer = allocate(bytes);
    if (my_rank == root) fill(buffer, bytes, 1);
    DONE(weft_broadcast(world, buffer, bytes, WEFT_UINT8, root));
    CHECK(count_different(buffer, bytes, 1) == 0);
    free(buffer);
}

/// Rank 0 sends a large block to the last one; all other blocks are small. At the receiver blocks lie in
/// reverse, so that most of them start behind the large one.
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
    for (int turn = 0; turn < size; ++turn) {
        const int rank = turn == 0 ? 0 : size - turn;
        out_displacements[rank] = out_bytes;
        out_bytes += out_counts[rank];
    }
    unsigned char* const in = allocate(in_bytes);
    unsigned char* const out = allocate(out_bytes);
    size_t at = 0;
    for (int rank = 0; rank < size; ++rank) {
        fill(in + at, in_counts[rank], (uint64_t)(100 * my_rank + rank));
        at += in_counts[rank];
    }
    DONE(
        weft_alltoallv(world, in, in_counts, NULL, out, out_counts, out_displacements, WEFT_UINT8));
    for (int rank = 0; rank < size; ++rank)
        CHECK(count_different(out + out_displacements[rank], out_counts[rank],
                              (uint64_t)(100 * rank + my_rank)) == 0);
    free(in);
    free(out);
}

/// What this program looks with sees a word that is missing, moved or cut.
static void check_the_check(void) {
    unsigned char some[43];
    fill(some, sizeof some, 7);
    CHECK(count_different(some, sizeof some, 7) == 0);
    CHECK(count_different(some, sizeof some, 8) == 6);
    some[42] ^= 1;
    some[8] ^= 1;
    CHECK(count_different(some, sizeof some, 7) == 2);
}

int main(int argc, char** argv) {
    weft_runtime* runtime = NULL;
    if (argc != 3 || weft_init(&runtime) != WEFT_OK) {
        fprintf(stderr, "usage: weft_giants BROADCAST_BYTES BLOCK_BYTES; %s\n", weft_last_error());
        return 1;
    }
    world = weft_world(runtime);
    my_rank = weft_rank(world);
    size = weft_size(world);
    CHECK(size <= 16);
    const size_t broadcast_bytes = (size_t)strtoull(argv[1], NULL, 10);
    const size_t block_bytes = (size_t)strtoull(argv[2], NULL, 10);
    check_the_check();
    broadcast(broadcast_bytes);
    DONE(weft_barrier(world));  // nobody allocates before all have freed
    alltoallv(block_bytes);
    DONE(weft_finalize(runtime));
    if (my_rank == 0 && wrong == 0)
        printf("%zu bytes broadcast, %zu in one block: right\n", broadcast_bytes, block_bytes);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
