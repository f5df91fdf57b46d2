// SPDX-License-Identifier: BSD-3-Clause
// one_sided.c - tests puts, gets, signals, waits and atomic operations on symmetric memory of the C
// interface, and that they refuse invalid arguments.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

#include "check.h"

enum { kWords = 3000 };

/// Symmetric memory of the tests.
struct board {
    uint64_t signal, counter, word, flag;
    uint64_t data[kWords];
};
static struct board* board;

/// Completes all puts, then sets the memory of all ranks to 0.
static void clear(void) {
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    memset(board, 0, sizeof *board);
    DONE(weft_barrier(world));
}

static void puts_and_gets(void) {
    static uint64_t out[kWords], in[kWords];
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    for (int i = 0; i < kWords; ++i) out[i] = 1000000 * (uint64_t)my_rank + (uint64_t)i;
    clear();
    DONE(weft_put(world, board->data, out, 100 * sizeof *out, next));
    DONE(weft_put_nbi(world, board->data + 100, out + 100, sizeof out - 100 * sizeof *out, next));
    DONE(weft_put(world, board->data, NULL, 0, next));
    // A call of 0 bytes needs no memory on either side.
    DONE(weft_put(world, NULL, NULL, 0, next));
    DONE(weft_put_nbi(world, NULL, NULL, 0, next));
    DONE(weft_get(world, NULL, NULL, 0, next));
    DONE(weft_get_nbi(world, NULL, NULL, 0, next));
    REFUSED(weft_put(world, NULL, NULL, 0, size), "peer");
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    for (int i = 0; i < kWords; ++i)
        CHECK(board->data[i] == 1000000 * (uint64_t)previous + (uint64_t)i);
    DONE(weft_get(world, in, board->data, 7 * sizeof *in, next));
    CHECK(memcmp(in, out, 7 * sizeof *in) == 0);
    DONE(weft_get_nbi(world, in, board->data, sizeof in, next));
    DONE(weft_quiet(world));
    CHECK(memcmp(in, out, sizeof in) == 0);
}

/// Puts data with a signal to the next rank; odd rounds set the signal, even rounds add 1. Then
/// puts the flag separately after a fence.
static void signals(void) {
    static uint64_t out[kWords];
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    const size_t counts[] = {0, 1, 2, 3, 100, kWords};
    int holds = 7;
    clear();
    CHECK(weft_test_until(world, &board->signal, WEFT_GT, 0, &holds) == WEFT_OK);
    DONE(weft_barrier(world));
    for (uint64_t round = 1; round <= 6; ++round) {
        const size_t count = counts[round - 1];
        for (int i = 0; i < kWords; ++i) out[i] = round << 32 | (uint64_t)my_rank;
        const weft_status put =
            round % 2 ? weft_put_signal(world, board->data, out, count * sizeof *out,
                                        &board->signal, round, 0, next)
                      : weft_put_signal_nbi(world, board->data, out, count * sizeof *out,
                                            &board->signal, 1, 1, next);
        CHECK(put == WEFT_OK);
        DONE(weft_wait_until(world, &board->signal, WEFT_EQ, round));
        for (size_t i = 0; i < count; ++i)
            CHECK(board->data[i] == (round << 32 | (uint64_t)previous));
        DONE(weft_test_until(world, &board->signal, WEFT_NE, round, &holds));
        CHECK(holds == 0);
        DONE(weft_test_until(world, &board->signal, WEFT_LE, round, &holds));
        CHECK(holds == 1);
        DONE(weft_quiet(world));
        DONE(weft_barrier(world));
    }
    // A fence orders the data before the flag.
    for (uint64_t round = 1; round <= 5; ++round) {
        for (int i = 0; i < kWords; ++i) out[i] = round << 40 | (uint64_t)my_rank;
        DONE(weft_put(world, board->data, out, sizeof out, next));
        DONE(weft_fence(world));
        DONE(weft_put(world, &board->flag, &round, sizeof round, next));
        DONE(weft_wait_until(world, &board->flag, WEFT_GE, round));
        for (int i = 0; i < kWords; ++i)
            CHECK(board->data[i] == (round << 40 | (uint64_t)previous));
        DONE(weft_barrier(world));
    }
}

/// Checks atomic operations of all ranks on the same words.
static void atomics(void) {
    uint64_t old = 99;
    clear();
    for (int i = 0; i < 20; ++i) DONE(weft_fetch_add(world, &board->counter, 3, 0, NULL));
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    DONE(weft_fetch_add(world, &board->counter, 0, 0, &old));
    CHECK(old == 60 * (uint64_t)size);
    // The swap of one rank succeeds; the other ranks get the value that it has written.
    DONE(weft_compare_swap(world, &board->word, 0, 1 + (uint64_t)my_rank, size - 1, &old));
    const int won = old == 0;
    CHECK(old <= (uint64_t)size);
    DONE(weft_fetch_add(world, &board->flag, (uint64_t)won, 0, &old));
    DONE(weft_barrier(world));
    DONE(weft_get(world, &old, &board->flag, sizeof old, 0));
    CHECK(old == 1);
    if (won) DONE(weft_swap(world, &board->word, 77, size - 1, &old));
    CHECK(!won || old == 1 + (uint64_t)my_rank);
    DONE(weft_barrier(world));
    CHECK(my_rank != size - 1 || board->word == 77);
}

/// Checks that the argument `peer` means a rank of the team.
static void teams(void) {
    weft_team* half = NULL;
    void* found = NULL;
    DONE(weft_team_split(world, my_rank % 2, -my_rank, &half));
    DONE(weft_alloc(half, sizeof(uint64_t), &found));
    uint64_t* word = found;
    *word = 0;
    DONE(weft_barrier(half));
    const uint64_t me = 1 + (uint64_t)my_rank;
    const int next = (weft_rank(half) + 1) % weft_size(half);
    DONE(weft_put(half, word, &me, sizeof me, next));
    DONE(weft_wait_until(half, word, WEFT_NE, 0));
    // The keys order the members by descending world rank: the put comes from my_rank + 2, or from
    // the lowest member if this rank is the highest.
    const int highest = my_rank % 2 == (size - 1) % 2 ? size - 1 : size - 2;
    CHECK(*word == 1 + (uint64_t)(my_rank + 2 <= highest ? my_rank + 2 : my_rank % 2));
    DONE(weft_quiet(half));
    DONE(weft_barrier(half));
    weft_team* stale = half;
    DONE(weft_team_free(half));
    REFUSED(weft_put(stale, board->data, &me, sizeof me, 0), "freed");
    REFUSED(weft_quiet(stale), "freed");
}

/// Returns 1 if all bytes have the value.
static int all_are(const unsigned char* bytes, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; ++i)
        if (bytes[i] != value) return 0;
    return 1;
}

/// The heaps of ranks 1 and 2 have their free ranges at different offsets. Memory of a team of both
/// must be at an offset that is free on both: the first free range of one may be in use on the
/// other.
static void heaps_with_different_free_ranges(void) {
    enum { kBytes = 4096 };
    if (size < 3) return;
    weft_team *side = NULL, *ranks_1_and_2 = NULL;
    void *first = NULL, *second = NULL, *found = NULL;
    DONE(weft_team_split(world, my_rank < 2 ? 0 : 1, my_rank, &side));
    DONE(weft_team_split(world, my_rank == 1 || my_rank == 2 ? 0 : -1, my_rank, &ranks_1_and_2));
    DONE(weft_alloc(side, kBytes, &first));
    if (my_rank >= 2) {
        DONE(weft_alloc(side, kBytes, &second));
        DONE(weft_free(side, first));
    }
    unsigned char* mine = my_rank >= 2 ? second : first;
    memset(mine, 0x5a, kBytes);
    if (ranks_1_and_2 != NULL) {
        DONE(weft_alloc(ranks_1_and_2, kBytes, &found));
        memset(found, 0xa5, kBytes);
        CHECK(all_are(mine, kBytes, 0x5a));
        DONE(weft_team_free(ranks_1_and_2));
    }
    DONE(weft_team_free(side));
}

static void refusals(void) {
    uint64_t here = 0, old = 5;
    int holds = 5;
    const uint64_t* odd = (const uint64_t*)((const char*)board + 1);
    REFUSED(weft_put(NULL, board->data, &here, 8, 0), "weft_put");
    REFUSED(weft_put(world, board->data, &here, 8, size), "peer");
    REFUSED(weft_put(world, board->data, &here, 8, -1), "peer: -1");
    REFUSED(weft_put(world, &here, &here, 8, 0), "symmetric memory");
    REFUSED(weft_put(world, NULL, &here, 8, 0), "dst");
    REFUSED(weft_put(world, board->data, NULL, 8, 0), "src is null");
    REFUSED(weft_put_nbi(world, board->data, &here, SIZE_MAX, 0), "dst");
    REFUSED(weft_get(world, &here, &here, 8, 0), "src");
    REFUSED(weft_get_nbi(world, NULL, board->data, 8, 0), "dst is null");
    REFUSED(weft_put_signal(world, board->data, &here, 8, &here, 1, 0, 0), "signal");
    REFUSED(weft_put_signal(world, board->data, &here, 8, (uint64_t*)odd, 1, 0, 0), "aligned");
    REFUSED(weft_fetch_add(world, (uint64_t*)odd, 1, 0, &old), "aligned");
    REFUSED(weft_swap(world, &here, 1, 0, &old), "word");
    REFUSED(weft_compare_swap(world, NULL, 1, 2, 0, &old), "word");
    REFUSED(weft_wait_until(world, NULL, WEFT_EQ, 0), "null");
    REFUSED(weft_wait_until(world, odd, WEFT_EQ, 0), "aligned");
    REFUSED(weft_wait_until(world, &board->flag, 6, 0), "cmp: 6");
    REFUSED(weft_test_until(world, &board->flag, WEFT_EQ, 0, NULL), "holds");
    CHECK(old == 5 && holds == 5 && here == 0);
    DONE(weft_barrier(world));
}

int main(void) {
    if (!join_job()) return 1;
    void* found = NULL;
    DONE(weft_alloc(world, sizeof *board, &found));
    board = found;
    puts_and_gets();
    signals();
    atomics();
    teams();
    heaps_with_different_free_ranges();
    refusals();
    // weft_finalize() completes the last put without a quiet.
    DONE(weft_put_nbi(world, board->data, board->data, 64, (my_rank + 1) % size));
    DONE(weft_finalize(runtime));
    return verdict("all one-sided calls are right");
}
