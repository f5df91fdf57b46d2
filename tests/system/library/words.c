// SPDX-License-Identifier: BSD-3-Clause
// words.c - tests calls of the C interface that work on words: atomic operations of each type,
// strided puts, gets with requests, waits for several words, locks. Also contexts, split teams,
// symmetric memory and collectives with strides; and that all refuse invalid arguments.
//
// usage: weft_words [STATUS]
//
// With an argument, the last rank aborts the job with this status.
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

#include "check.h"

enum { kCells = 96, kRows = 20, kRanksMax = 64 };  // kRows: elements of a strided put

/// Symmetric memory of the tests.
struct board {
    uint64_t lock, count, total;
    uint64_t signals[kRanksMax];
    int32_t narrow[kRanksMax];
    uint32_t bits;
    int64_t wide;
    float single;
    double real;
    int32_t cells[kCells];
};
static struct board* board;

static int next_rank(void) {
    return (my_rank + 1) % size;
}
static int previous_rank(void) {
    return (my_rank + size - 1) % size;
}

/// Waits until the puts of all ranks are delivered.
static void complete_puts(void) {
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
}
/// Completes all puts, then sets the memory of all ranks to 0.
static void clear(void) {
    complete_puts();
    memset(board, 0, sizeof *board);
    DONE(weft_barrier(world));
}

/// Adds to a word of rank 0 from all ranks, then applies each operation to words of the last rank.
static void integers(void) {
    const int32_t two = 2, minus = -5;
    const uint32_t bytes = 0xff00ff00U, nibbles = 0x0f0f0f0fU;
    const int64_t big = INT64_C(1) << 40, other = -7;
    int32_t old = 99;
    uint32_t before = 99;
    int64_t was = 99;
    clear();
    for (int i = 0; i < 10; ++i)
        DONE(weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_INT32, &board->narrow[0],
                         i % 2 ? &two : &minus, NULL, NULL, 0));
    complete_puts();
    DONE(weft_atomic(world, WEFT_ATOMIC_FETCH, WEFT_INT32, &board->narrow[0], NULL, NULL, &old, 0));
    CHECK(old == -15 * size);
    complete_puts();
    if (my_rank == 0) {
        const int last = size - 1;
        DONE(weft_atomic(world, WEFT_ATOMIC_SET, WEFT_UINT32, &board->bits, &bytes, NULL, NULL,
                         last));
        DONE(weft_quiet(world));
        DONE(weft_atomic(world, WEFT_ATOMIC_AND, WEFT_UINT32, &board->bits, &nibbles, NULL, &before,
                         last));
        CHECK(before == bytes);
        DONE(weft_atomic(world, WEFT_ATOMIC_OR, WEFT_UINT32, &board->bits, &bytes, NULL, &before,
                         last));
        CHECK(before == (bytes & nibbles));
        DONE(weft_atomic_nbi(world, WEFT_ATOMIC_XOR, WEFT_UINT32, &board->bits, &nibbles, NULL,
                             &before, last));
        DONE(weft_quiet(world));
        CHECK(before == bytes);
        DONE(weft_atomic(world, WEFT_ATOMIC_FETCH, WEFT_UINT32, &board->bits, NULL, NULL, &before,
                         last));
        CHECK(before == (bytes ^ nibbles));
        DONE(weft_atomic(world, WEFT_ATOMIC_SET, WEFT_INT64, &board->wide, &big, NULL, &was, last));
        CHECK(was == 0);
        DONE(weft_atomic(world, WEFT_ATOMIC_COMPARE_SWAP, WEFT_INT64, &board->wide, &other, &other,
                         &was, last));
        CHECK(was == big);
        DONE(weft_atomic(world, WEFT_ATOMIC_COMPARE_SWAP, WEFT_INT64, &board->wide, &other, &big,
                         &was, last));
        CHECK(was == big);
        DONE(weft_atomic(world, WEFT_ATOMIC_FETCH, WEFT_INT64, &board->wide, NULL, NULL, &was,
                         last));
        CHECK(was == -7);
    }
    complete_puts();
}

static void floats(void) {
    const float f = 1.5F * (float)(my_rank + 1);
    const double d = -2.25 * (my_rank + 1);
    float old = 9;
    double was = 9;
    clear();
    DONE(weft_atomic(world, WEFT_ATOMIC_SET, WEFT_FLOAT, &board->single, &f, NULL, NULL,
                     next_rank()));
    DONE(weft_atomic(world, WEFT_ATOMIC_SET, WEFT_DOUBLE, &board->real, &d, NULL, &was,
                     next_rank()));
    CHECK(was == 0);
    complete_puts();
    CHECK(board->single == 1.5F * (float)(previous_rank() + 1));
    DONE(weft_atomic(world, WEFT_ATOMIC_FETCH, WEFT_FLOAT, &board->single, NULL, NULL, &old,
                     next_rank()));
    DONE(weft_atomic(world, WEFT_ATOMIC_FETCH, WEFT_DOUBLE, &board->real, NULL, NULL, &was,
                     next_rank()));
    CHECK(old == f && was == d);
    REFUSED(weft_atomic(world, WEFT_ATOMIC_XOR, WEFT_DOUBLE, &board->real, &d, NULL, NULL, 0),
            "floating-point");
    complete_puts();
}

/// Puts columns of a matrix to the next rank, also in blocks of two and with a negative stride.
static void strides(void) {
    int32_t source[kCells], back[kCells];
    for (int i = 0; i < kCells; ++i) source[i] = 1000 * my_rank + i;
    clear();
    DONE(weft_put_strided(world, board->cells, 3 * sizeof(int32_t), source + 1, 2 * sizeof(int32_t),
                          sizeof(int32_t), kRows, next_rank()));
    DONE(weft_put_strided(world, board->cells + kCells - 2, -4 * (ptrdiff_t)sizeof(int32_t), source,
                          2 * sizeof(int32_t), 2 * sizeof(int32_t), 5, next_rank()));
    complete_puts();
    const int from = 1000 * previous_rank();
    for (int i = 0; i < kRows; ++i) CHECK(board->cells[3 * i] == from + 1 + 2 * i);
    for (int i = 0; i < 5; ++i) {
        CHECK(board->cells[kCells - 2 - 4 * i] == from + 2 * i);
        CHECK(board->cells[kCells - 1 - 4 * i] == from + 2 * i + 1);
    }
    CHECK(board->cells[1] == 0 && board->cells[2] == 0);
    memset(back, 0, sizeof back);
    DONE(weft_get_strided(world, back, 2 * sizeof(int32_t), board->cells, 3 * sizeof(int32_t),
                          sizeof(int32_t), kRows, next_rank()));
    for (int i = 0; i < kRows; ++i) CHECK(back[2 * i] == 1000 * my_rank + 1 + 2 * i);
    CHECK(back[1] == 0);
    DONE(weft_put_strided(world, board->cells, 8, NULL, 8, 4, 0, next_rank()));
    REFUSED(weft_put_strided(world, board->cells, 8, NULL, 8, 4, 1, next_rank()), "src is null");
    REFUSED(weft_put_strided(world, board->cells, PTRDIFF_MAX, source, 8, 4, 4, next_rank()),
            "dst");
    REFUSED(weft_get_strided(world, back, 8, board->cells, -(PTRDIFF_MAX / 4), 4, 3, next_rank()),
            "src");
    complete_puts();
}

static void gets_with_requests(void) {
    int32_t first[kCells] = {0}, second[8] = {0};
    weft_request *one = NULL, *two = NULL;
    int done = 0;
    clear();
    for (int i = 0; i < kCells; ++i) board->cells[i] = 100 * my_rank + i;
    DONE(weft_barrier(world));
    DONE(weft_iget(world, first, board->cells, sizeof first, next_rank(), &one));
    DONE(weft_iget(world, second, board->cells + 8, sizeof second, next_rank(), &two));
    while (!done) DONE(weft_test(&two, &done));
    CHECK(two == NULL);
    DONE(weft_wait_for(&one, WEFT_FOREVER));
    CHECK(one == NULL);
    for (int i = 0; i < kCells; ++i) CHECK(first[i] == 100 * next_rank() + i);
    for (int i = 0; i < 8; ++i) CHECK(second[i] == 100 * next_rank() + 8 + i);
    complete_puts();
}

/// Each rank sets one word at every rank, and waits for all its own words. `words` is the condition
/// on all of them, `skipped` on those that `skip` does not mark.
static void waits(void) {
    const int32_t minus = -3, zero = 0;
    const uint64_t one = 1;
    size_t index = 0, found = 0, indices[kRanksMax];
    int holds = 7, skip[kRanksMax] = {0};
    uint64_t values[kRanksMax], seen = 0;
    const size_t ranks = (size_t)size;
    clear();
    const weft_words words = {.words = board->signals,
                              .count = ranks,
                              .type = WEFT_UINT64,
                              .cmp = WEFT_EQ,
                              .values = values,
                              .each = 1};
    const weft_words skipped = {.words = board->signals,
                                .count = ranks,
                                .type = WEFT_UINT64,
                                .cmp = WEFT_GE,
                                .values = &one,
                                .skip = skip};
    for (size_t i = 0; i < ranks; ++i) {
        values[i] = 10 + i;
        skip[i] = 1;
    }
    DONE(weft_test_any(world, &words, &index));
    CHECK(index == SIZE_MAX);
    DONE(weft_test_all(world, &words, &holds));
    CHECK(holds == 0);
    DONE(weft_test_all(world, &skipped, &holds));
    CHECK(holds == 1);
    DONE(weft_wait_all(world, &skipped, 0));
    DONE(weft_wait_any(world, &skipped, 0, &index));
    CHECK(index == SIZE_MAX);
    DONE(weft_wait_some(world, &skipped, 0, indices, &found));
    CHECK(found == 0);
    DONE(weft_barrier(world));
    for (int peer = 0; peer < size; ++peer)
        DONE(weft_signal(world, &board->signals[my_rank], 10 + (uint64_t)my_rank, 0, peer));
    int returned[kRanksMax] = {0};
    for (size_t remaining = ranks; remaining > 0;) {
        memcpy(skip, returned, sizeof skip);
        DONE(weft_wait_some(world, &skipped, WEFT_FOREVER, indices, &found));
        CHECK(found > 0);
        for (size_t i = 0; i < found; ++i) {
            CHECK(!returned[indices[i]] && board->signals[indices[i]] == values[indices[i]]);
            returned[indices[i]] = 1;
            --remaining;
        }
    }
    DONE(weft_wait_all(world, &words, WEFT_FOREVER));
    DONE(weft_test_all(world, &words, &holds));
    CHECK(holds == 1);
    DONE(weft_wait_any(world, &words, WEFT_FOREVER, &index));
    CHECK(index < ranks);
    DONE(weft_test_some(world, &words, indices, &found));
    CHECK(found == ranks);
    DONE(weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_INT32, &board->narrow[5], &minus, NULL, NULL,
                     next_rank()));
    DONE(weft_wait_word(world, &board->narrow[5], WEFT_INT32, WEFT_LT, &zero, WEFT_FOREVER, &seen));
    CHECK((int32_t)seen == -3);
    REFUSED(weft_wait_all(world, NULL, 0), "words");
    REFUSED(weft_wait_word(world, &board->narrow[5], WEFT_INT8, WEFT_LT, &zero, 0, NULL), "type");
    complete_puts();
}

/// Waits with limits of 1 and 2 ms, for a word that is never set and for a barrier that cannot
/// complete.
static void time_limits(void) {
    const uint64_t never = 77;
    weft_request* request = NULL;
    clear();
    REFUSED_AS(weft_wait_word(world, &board->count, WEFT_UINT64, WEFT_EQ, &never, 2000000, NULL),
               WEFT_ERR_TIMEOUT, "time limit exceeded");
    REFUSED(weft_wait_word(world, &board->count, WEFT_UINT64, WEFT_EQ, &never, -1, NULL),
            "timeout");
    DONE(weft_quiet_for(world, WEFT_FOREVER));
    DONE(weft_barrier(world));
    if (my_rank == 0 && size > 1) {
        // The other ranks enter the barrier only after a signal of rank 0.
        DONE(weft_ibarrier(world, &request));
        REFUSED_AS(weft_wait_for(&request, 1000000), WEFT_ERR_TIMEOUT, "time limit exceeded");
        for (int peer = 1; peer < size; ++peer) DONE(weft_signal(world, &board->total, 1, 0, peer));
        DONE(weft_wait_for(&request, WEFT_FOREVER));
        CHECK(request == NULL);
    } else {
        if (size > 1) DONE(weft_wait_until(world, &board->total, WEFT_EQ, 1));
        DONE(weft_barrier(world));
    }
    complete_puts();
}

/// Puts by two contexts: a fence or quiet of one is enough for its own puts.
static void contexts(void) {
    weft_team *first = NULL, *second = NULL, *half = NULL, *stale = NULL;
    int32_t values[kCells];
    for (int i = 0; i < kCells; ++i) values[i] = my_rank + i;
    clear();
    DONE(weft_context_create(world, 0, &first));
    DONE(weft_context_create(world, WEFT_CONTEXT_PRIVATE | WEFT_CONTEXT_SERIALIZED, &second));
    REFUSED(weft_context_create(world, 64, &stale), "hints");
    CHECK(weft_rank(first) == my_rank && weft_size(second) == size);
    DONE(weft_put_nbi(first, board->cells, values, sizeof values / 2, next_rank()));
    DONE(weft_put_nbi(second, board->cells + kCells / 2, values + kCells / 2, sizeof values / 2,
                      next_rank()));
    DONE(weft_fence(first));
    DONE(weft_signal(first, &board->signals[0], 5, 0, next_rank()));
    DONE(weft_wait_until(first, &board->signals[0], WEFT_EQ, 5));
    for (int i = 0; i < kCells / 2; ++i) CHECK(board->cells[i] == previous_rank() + i);
    DONE(weft_quiet(second));
    DONE(weft_barrier(second));
    for (int i = 0; i < kCells; ++i) CHECK(board->cells[i] == previous_rank() + i);
    DONE(weft_context_free(second));
    REFUSED(weft_put(second, board->cells, values, 4, 0), "freed");
    REFUSED(weft_context_free(world), "team");
    REFUSED(weft_team_free(first), "context");
    DONE(weft_context_free(first));
    DONE(weft_team_split(world, my_rank % 2, my_rank, &half));
    DONE(weft_context_create(half, 0, &stale));
    DONE(weft_team_free(half));
    REFUSED(weft_quiet(stale), "freed");
    complete_puts();
}

/// Each rank increments a count by a get and a put while it has the lock, 30 times after
/// weft_lock_set() and 5 times after weft_lock_test(). No increment may be lost.
static void locks(void) {
    int got = 7;
    clear();
    for (int i = 0; i < 30; ++i) {
        uint64_t count = 0;
        DONE(weft_lock_set(world, &board->lock));
        DONE(weft_get(world, &count, &board->count, sizeof count, 0));
        ++count;
        DONE(weft_put(world, &board->count, &count, sizeof count, 0));
        DONE(weft_lock_clear(world, &board->lock));
    }
    for (int i = 0; i < 5;) {
        DONE(weft_lock_test(world, &board->lock, &got));
        if (!got) continue;
        uint64_t count = 0;
        DONE(weft_get(world, &count, &board->count, sizeof count, 0));
        ++count;
        DONE(weft_put(world, &board->count, &count, sizeof count, 0));
        DONE(weft_lock_clear(world, &board->lock));
        ++i;
    }
    complete_puts();
    CHECK(my_rank != 0 || board->count == 35 * (uint64_t)size);
    CHECK(board->lock == 0);
    REFUSED(weft_lock_clear(world, &board->lock), "does not hold");
    REFUSED(weft_lock_set(world, NULL), "lock");
    complete_puts();
}

/// Rank 0 holds a lock, and tests it while rank 1 waits for it. Only rank 0 can release it.
static void held_locks(void) {
    if (size < 2) return;
    const volatile uint32_t* const successor = (const volatile uint32_t*)&board->lock;
    int got = 0;
    clear();
    if (my_rank == 0) DONE(weft_lock_set(world, &board->lock));
    DONE(weft_barrier(world));
    if (my_rank == 1) {
        REFUSED(weft_lock_clear(world, &board->lock), "does not hold");
        DONE(weft_lock_set(world, &board->lock));
        DONE(weft_lock_clear(world, &board->lock));
    }
    if (my_rank == 0) {
        do {
            DONE(weft_lock_test(world, &board->lock, &got));
            CHECK(!got);
        } while ((*successor & 0x7fffffff) == 0); /* until rank 1 waits */
        DONE(weft_lock_test(world, &board->lock, &got));
        CHECK(!got);
        DONE(weft_lock_clear(world, &board->lock));
    }
    complete_puts();
    CHECK(board->lock == 0);
}

static void teams(void) {
    weft_team *odd = NULL, *row = NULL, *column = NULL;
    const int odd_members = size / 2;
    if (odd_members > 0) {
        DONE(weft_team_split_strided(world, 1, 2, odd_members, &odd));
        CHECK((odd != NULL) == (my_rank % 2 == 1));
        if (odd != NULL) {
            CHECK(weft_rank(odd) == my_rank / 2 && weft_size(odd) == odd_members);
            CHECK(weft_team_translate(odd, 0, world) == 1);
            CHECK(weft_team_translate(world, 0, odd) == -1);
            DONE(weft_team_free(odd));
        }
        DONE(weft_team_split_strided(world, size - 1, -1, size, &odd));
        CHECK(weft_rank(odd) == size - 1 - my_rank);
        DONE(weft_team_free(odd));
    }
    REFUSED(weft_team_split_strided(world, 0, 1, size + 1, &odd), "size");
    REFUSED(weft_team_split_strided(world, 0, 0, 2, &odd), "stride");
    DONE(weft_team_split_2d(world, 2, &row, &column));
    CHECK(weft_rank(row) == my_rank % 2 && weft_rank(column) == my_rank / 2);
    CHECK(weft_team_translate(column, 0, world) == my_rank % 2);
    CHECK(weft_size(row) == (my_rank / 2 * 2 + 1 < size ? 2 : 1));
    DONE(weft_team_free(row));
    DONE(weft_team_free(column));
}

static void memory(void) {
    void *block = NULL, *aligned = NULL;
    DONE(weft_calloc(world, 100, sizeof(uint32_t), &block));
    uint32_t* words = block;
    for (int i = 0; i < 100; ++i) CHECK(words[i] == 0);
    for (uint32_t i = 0; i < 100; ++i) words[i] = i;
    DONE(weft_realloc(world, &block, 100000 * sizeof(uint32_t)));
    words = block;
    for (uint32_t i = 0; i < 100; ++i) CHECK(words[i] == i);
    DONE(weft_realloc(world, &block, 50 * sizeof(uint32_t)));
    words = block;
    for (uint32_t i = 0; i < 50; ++i) CHECK(words[i] == i);
    DONE(weft_realloc(world, &block, 0));
    CHECK(block == NULL);
    DONE(weft_realloc(world, &block, 64));
    DONE(weft_free(world, block));
    DONE(weft_alloc_hinted(world, (size_t)8 << 20, 4096, WEFT_MEMORY_SIGNALS, &aligned));
    CHECK((uintptr_t)aligned % ((size_t)8 << 20) == 0);
    DONE(weft_free(world, aligned));
    DONE(weft_alloc_aligned(world, (size_t)32 << 20, 1 << 20, &aligned));
    CHECK((uintptr_t)aligned % ((size_t)32 << 20) == 0);
    DONE(weft_free(world, aligned));
    void* blocks[2] = {NULL, NULL};
    for (int i = 0; i < 2; ++i) DONE(weft_alloc(world, 64, &blocks[i]));
    for (int i = 0; i < 300 && size > 1; ++i) { /* a heap has 256 MiB; refused calls keep nothing */
        block = blocks[my_rank == 0];
        REFUSED(weft_realloc(world, &block, 1 << 20), "different memory");
    }
    for (int i = 0; i < 2; ++i) DONE(weft_free(world, blocks[i]));
    REFUSED(weft_alloc_hinted(world, 64, 64, 8, &aligned), "hints");
    REFUSED(weft_alloc_hinted(world, 48, 64, 0, &aligned), "alignment");
}

/// An alltoall with strides, and weft_collect() of blocks whose sizes only the senders know.
static void strided_collectives(void) {
    int32_t in[3 * kRanksMax * 2], out[3 * kRanksMax * 3];
    size_t counts[kRanksMax];
    double mine[kRanksMax], all[kRanksMax * kRanksMax];
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    for (int r = 0; r < size; ++r)
        for (int k = 0; k < 3; ++k) in[(r * 3 + k) * 2] = 10000 * my_rank + 100 * r + k;
    DONE(weft_alltoall_strided(world, in, 2, out, 3, 3, WEFT_INT32));
    for (int r = 0; r < size; ++r)
        for (int k = 0; k < 3; ++k) CHECK(out[(r * 3 + k) * 3] == 10000 * r + 100 * my_rank + k);
    CHECK(out[1] == 0);
    for (int i = 0; i < my_rank; ++i) mine[i] = my_rank + 0.01 * i;
    DONE(weft_collect(world, mine, (size_t)my_rank, all, counts, WEFT_DOUBLE));
    int at = 0;
    for (int r = 0; r < size; ++r) {
        CHECK(counts[r] == (size_t)r);
        for (int i = 0; i < r; ++i) CHECK(all[at++] == r + 0.01 * i);
    }
    REFUSED(weft_alltoall_strided(world, in, 0, out, 1, 1, WEFT_INT32), "strides");
    REFUSED(weft_alltoall_strided(world, in, 1, WEFT_IN_PLACE, 1, 1, WEFT_INT32), "in place");
}

static void refusals(void) {
    const uint64_t one = 1;
    uint64_t old = 5;
    REFUSED(weft_atomic(world, 9, WEFT_UINT64, &board->count, &one, NULL, &old, 0), "kind");
    REFUSED(weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_INT16, &board->count, &one, NULL, &old, 0),
            "type");
    REFUSED(weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_UINT64, &board->count, NULL, NULL, &old, 0),
            "operand");
    REFUSED(weft_atomic(world, WEFT_ATOMIC_COMPARE_SWAP, WEFT_UINT64, &board->count, &one, NULL,
                        &old, 0),
            "compare");
    REFUSED(weft_atomic(world, WEFT_ATOMIC_FETCH, WEFT_UINT64, &board->count, NULL, NULL, NULL, 0),
            "result");
    REFUSED(weft_atomic(world, WEFT_ATOMIC_ADD, WEFT_INT32, (char*)board + 2, &one, NULL, &old, 0),
            "aligned");
    CHECK(old == 5);
    complete_puts();
}

int main(int argc, char** argv) {
    if (!join_job()) return 1;
    if (argc > 1 && my_rank == size - 1) weft_abort(runtime, atoi(argv[1]));
    if (argc > 1) DONE(weft_barrier(world));
    void* allocated = NULL;
    DONE(weft_alloc(world, sizeof *board, &allocated));
    board = allocated;
    memset(board, 0, sizeof *board);
    integers();
    floats();
    strides();
    gets_with_requests();
    waits();
    time_limits();
    contexts();
    locks();
    held_locks();
    teams();
    memory();
    strided_collectives();
    refusals();
    DONE(weft_finalize(runtime));
    return verdict("all words are right");
}
