// SPDX-License-Identifier: BSD-3-Clause
// threads.c - four threads of each rank make random one-sided calls, collectives and waits at once.
//
// usage: weft_threads [ROUNDS [SEED [wrong]]]
//
// Idea     Each thread has a team of all ranks, and words at the next rank that only this thread
//          writes, so a serial model predicts their values. All threads of all ranks change other
//          words by commutative operations, whose sums are compared at the end.
// Control  `wrong`: one thread puts a value that differs from the model; the job must fail.
#include <pthread.h>
#include <stdlib.h>
#include <weft/near.h>
#include <weft/weft.h>

#include "check.h"

enum { kThreads = 4, kCells = 40, kBlock = 300 };  // words of struct shared
enum { kHandler = 7 };                             // number of the message handler
enum { kCalls = 25 };                              // one-sided calls of a thread in a round

/// Symmetric memory.
struct shared {
    uint64_t cells[kThreads][kCells];   // written by the same thread of the previous rank
    uint64_t blocks[kThreads][kBlock];  // written in the same way, with signals
    uint64_t signals[kThreads];         // round of the block that has arrived
    uint64_t credits[kThreads];         // round whose block the next rank has read
    uint64_t counter;                   // all threads add to it
    uint32_t bits;                      // threads flip bits twice, so it is 0 at the end
    uint64_t lock, locked;              // at rank 0: number of times that a thread has had the lock
    uint64_t scratch[kThreads];         // written by the same thread of the previous rank
};

struct worker {
    int number;
    uint64_t state;  // of the random generator
    weft_team* team;
    weft_team* handle;       // for one-sided calls: the team or one of its contexts
    uint64_t added, sent;    // sum of values added to counters; bytes of messages sent
    uint64_t model[kCells];  // expected words of this thread at the next rank
    int wrong;               // failed checks
};

static struct shared* mine;
static uint64_t handled;  // bytes of messages that this rank has handled
static uint64_t rounds = 20;
static uint64_t planted;  // 1 until a thread puts a wrong value
static struct worker workers[kThreads];
static weft_near* near_view;

static uint64_t draw(struct worker* worker) {
    worker->state += 0x9e3779b97f4a7c15ULL;
    uint64_t z = worker->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

/// Counts a condition that is false, and prints the first three. Returns the condition.
static int expect(struct worker* worker, int holds, const char* what) {
    if (!holds && worker->wrong++ < 3)
        fprintf(stderr, "rank %d: thread %d: %s (last error: %s)\n", my_rank, worker->number, what,
                weft_last_error());
    return holds;
}
/// MUST checks that a call succeeds, HOLDS a condition.
#define MUST(call) expect(worker, (call) == WEFT_OK, #call)
#define HOLDS(condition) expect(worker, condition, #condition)

static void count_bytes(void* arg, const weft_am* message, const void* data, size_t bytes) {
    (void)arg;
    (void)message;
    (void)data;
    __atomic_fetch_add(&handled, bytes, __ATOMIC_RELAXED);
}

/// Writes a random word of this thread at the next rank by a random function.
static void write_cell(struct worker* worker, int next) {
    const int cell = (int)(draw(worker) % kCells);
    uint64_t value = draw(worker);
    uint64_t* const at = &mine->cells[worker->number][cell];
    worker->model[cell] = value;
    if (planted && worker->number == 2 && __atomic_exchange_n(&planted, 0, __ATOMIC_RELAXED))
        ++value;
    MUST(weft_fence(worker->handle));  // orders the put after earlier puts to this cell
    switch (draw(worker) % 5) {
        case 0:
            MUST(weft_put(worker->handle, at, &value, sizeof value, next));
            break;
        case 1:
            MUST(weft_put_strided(worker->handle, at, 4, &value, 4, 4, 2, next));
            break;
        case 2:
            MUST(weft_atomic(worker->handle, WEFT_ATOMIC_SET, WEFT_UINT64, at, &value, NULL, NULL,
                             next));
            break;
        case 3:
            MUST(weft_put_nbi(worker->handle, at, &value, sizeof value, next));
            MUST(weft_quiet(worker->handle));  // `value` goes out of scope
            break;
        default:
            MUST(weft_quiet(worker->handle));  // puts through the view belong to the world
            MUST(weft_near_put_u64(near_view, at, value, next));
            MUST(weft_quiet(world));
    }
}

/// Adds to the counter and flips bits at a random rank; sometimes sends a message.
static void change_words(struct worker* worker) {
    const int peer = (int)(draw(worker) % (uint64_t)size);
    const uint64_t value = draw(worker) % 1000;
    const uint32_t bits = (uint32_t)draw(worker);
    uint64_t old = 0, later = 0;
    worker->added += value;
    switch (draw(worker) % 4) {
        case 0:
            MUST(weft_fetch_add(worker->handle, &mine->counter, value, peer, &old));
            break;
        case 1:
            MUST(weft_fetch_add(worker->handle, &mine->counter, value, peer, NULL));
            break;
        case 2:
            MUST(weft_near_add_u64(near_view, &mine->counter, value, peer));
            break;
        default:
            MUST(weft_atomic_nbi(worker->handle, WEFT_ATOMIC_ADD, WEFT_UINT64, &mine->counter,
                                 &value, NULL, &later, peer));
            MUST(weft_quiet(worker->handle));
    }
    for (int twice = 0; twice < 2; ++twice)
        MUST(weft_atomic(worker->handle, WEFT_ATOMIC_XOR, WEFT_UINT32, &mine->bits, &bits, NULL,
                         NULL, peer));
    if (draw(worker) % 4 == 0) {
        MUST(weft_am_request(world, peer, kHandler, &value, sizeof value));
        worker->sent += sizeof value;
    }
}

/// Puts a block with a signal to the next rank, and checks the block of the previous rank. The
/// credit of the next rank says that its memory may be overwritten.
static void pass_block(struct worker* worker, uint64_t round, int next, int previous) {
    uint64_t block[kBlock], back[3] = {0, 0, 0};
    const int t = worker->number;
    weft_request* request = NULL;
    for (int i = 0; i < kBlock; ++i) block[i] = round * 1000 + (uint64_t)(my_rank * 7 + t + i);
    MUST(weft_wait_until(worker->team, &mine->credits[t], WEFT_GE, round - 1));
    MUST(weft_put_signal(worker->handle, mine->blocks[t], block, sizeof block, &mine->signals[t],
                         round, 0, next));
    MUST(weft_wait_until(worker->team, &mine->signals[t], WEFT_GE, round));
    for (int i = 0; i < kBlock; ++i)
        HOLDS(mine->blocks[t][i] == round * 1000 + (uint64_t)(previous * 7 + t + i));
    MUST(weft_iget(worker->team, back, &mine->blocks[t][5], sizeof back, my_rank, &request));
    MUST(weft_wait(&request));
    HOLDS(back[2] == mine->blocks[t][7]);
    MUST(weft_signal(worker->handle, &mine->credits[t], round, 0, previous));
}

/// Counts under a lock. All threads of all ranks compete for it.
static void count_under_lock(struct worker* worker) {
    uint64_t count = 0;
    int got = 0;
    if (draw(worker) % 2 == 0)
        MUST(weft_lock_set(world, &mine->lock));
    else
        while (!got) MUST(weft_lock_test(world, &mine->lock, &got));
    MUST(weft_get(world, &count, &mine->locked, sizeof count, 0));
    ++count;
    MUST(weft_put(world, &mine->locked, &count, sizeof count, 0));
    MUST(weft_lock_clear(world, &mine->lock));
}

/// Ends a context with a put in flight, while the main thread may wait for all contexts.
static void use_short_context(struct worker* worker, uint64_t round, int next) {
    weft_team* context = NULL;
    MUST(weft_context_create(worker->team, 0, &context));
    MUST(weft_put_nbi(context, &mine->scratch[worker->number], &round, sizeof round, next));
    MUST(weft_context_free(context));
}

static void collectives(struct worker* worker, uint64_t round) {
    const uint64_t one = round + (uint64_t)worker->number;
    uint64_t sum = 0, numbers[70];
    weft_request* request = NULL;
    MUST(weft_allreduce(worker->team, &one, &sum, 1, WEFT_UINT64, WEFT_SUM));
    HOLDS(sum == one * (uint64_t)size);
    for (int i = 0; i < 70; ++i)
        numbers[i] = my_rank == (int)(round % (uint64_t)size) ? one + i : 0;
    MUST(weft_ibroadcast(worker->team, numbers, 70, WEFT_UINT64, (int)(round % (uint64_t)size),
                         &request));
    change_words(worker);
    MUST(weft_wait(&request));
    HOLDS(numbers[69] == one + 69);
}

static void* work(void* argument) {
    struct worker* const worker = argument;
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    uint64_t remote[kCells];
    for (uint64_t round = 1; round <= rounds; ++round) {
        for (int i = 0; i < kCalls; ++i)
            draw(worker) % 3 == 0 ? change_words(worker) : write_cell(worker, next);
        MUST(weft_quiet(worker->handle));
        MUST(weft_get(worker->handle, remote, mine->cells[worker->number], sizeof remote, next));
        HOLDS(memcmp(remote, worker->model, sizeof remote) == 0);
        pass_block(worker, round, next, previous);
        count_under_lock(worker);
        use_short_context(worker, round, next);
        collectives(worker, round);
    }
    MUST(weft_quiet(worker->handle));
    MUST(weft_barrier(worker->team));
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t threads[kThreads];
    void* memory = NULL;
    enum { kAdded, kCounted, kSent, kHandled, kSums };
    uint64_t sums[kSums] = {0}, all[kSums];  // of this rank and of all ranks
    if (argc > 1) rounds = strtoull(argv[1], NULL, 0);
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    if (weft_init_threads(WEFT_THREADS_MULTIPLE, &runtime) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 3;
    }
    world = weft_world(runtime);
    my_rank = weft_rank(world);
    size = weft_size(world);
    planted = argc > 3 && my_rank == 0;
    DONE(weft_calloc(world, 1, sizeof *mine, &memory));
    mine = memory;
    DONE(weft_am_register(runtime, kHandler, count_bytes, NULL));
    DONE(weft_near_open(world, sizeof *near_view, &near_view));
    for (int i = 0; i < kThreads; ++i) {
        struct worker* const worker = &workers[i];
        *worker = (struct worker){.number = i, .state = seed * 64 + (uint64_t)(my_rank * 8 + i)};
        DONE(weft_team_split(world, 0, my_rank, &worker->team));
        worker->handle = worker->team;
        if (i % 2 == 1) DONE(weft_context_create(worker->team, 0, &worker->handle));
    }
    DONE(weft_barrier(world));
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &workers[i]);
    for (uint64_t round = 0; round < rounds; ++round) {
        DONE(weft_alloc(world, 64, &memory));
        DONE(weft_free(world, memory));
    }
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < kThreads; ++i) {
        wrong += workers[i].wrong;
        sums[kAdded] += workers[i].added;
        sums[kSent] += workers[i].sent;
    }
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    sums[kCounted] = mine->counter;
    CHECK(mine->bits == 0 && mine->lock == 0);
    CHECK(my_rank != 0 || mine->locked == rounds * kThreads * (uint64_t)size);
    do {
        weft_progress(runtime);
        sums[kHandled] = __atomic_load_n(&handled, __ATOMIC_RELAXED);
        DONE(weft_allreduce(world, sums, all, kSums, WEFT_UINT64, WEFT_SUM));
    } while (all[kHandled] < all[kSent] && wrong == 0);
    CHECK(all[kAdded] == all[kCounted]);
    CHECK(all[kSent] == all[kHandled]);
    const uint64_t wrong_here = (uint64_t)wrong;
    uint64_t wrong_anywhere = 0;
    DONE(weft_allreduce(world, &wrong_here, &wrong_anywhere, 1, WEFT_UINT64, WEFT_SUM));
    for (int i = 0; i < kThreads; ++i) DONE(weft_team_free(workers[i].team));
    DONE(weft_finalize(runtime));
    wrong += (int)wrong_anywhere;
    return verdict("all threads are right");
}
