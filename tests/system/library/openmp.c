// SPDX-License-Identifier: BSD-3-Clause
// openmp.c - OpenMP programs: a team for each thread, and puts to local peers without a lock.
//
// Idea     A waiting thread holds the engine's lock while it runs the function of
//          weft_on_progress(). Here this function returns after the other threads have made all
//          their calls on memory of local peers. A call that needed the lock would never return.
#include <sched.h>
#include <stdlib.h>
#include <weft/weft.h>

#include "check.h"

enum { kThreads = 4, kWords = 64, kRounds = 50 };

struct shared {
    uint64_t words[kThreads][kWords];
    uint64_t signals[kThreads], credits[kThreads];
    uint64_t sum, release;
    double real;
};
static struct shared* shared;
static int held, finished;  // accessed by atomic builtins

static void wait_for_threads(void* unused) {
    (void)unused;
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) != kThreads - 1) sched_yield();
}

/// Each thread sends blocks around the ring and reduces in its own team.
static int use_own_team(int thread, weft_team* team) {
    const int next = (my_rank + 1) % size, previous = (my_rank + size - 1) % size;
    uint64_t block[kWords];
    int faults = 0;
    for (uint64_t round = 1; round <= kRounds; ++round) {
        for (int i = 0; i < kWords; ++i) block[i] = round * 1000 + (uint64_t)(100 * my_rank + i);
        faults += weft_put_signal(team, shared->words[thread], block, sizeof block,
                                  &shared->signals[thread], round, 0, next) != WEFT_OK;
        faults += weft_wait_until(team, &shared->signals[thread], WEFT_EQ, round) != WEFT_OK;
        for (int i = 0; i < kWords; ++i)
            faults += shared->words[thread][i] != round * 1000 + (uint64_t)(100 * previous + i);
        faults += weft_signal(team, &shared->credits[thread], round, 0, previous) != WEFT_OK;
        faults += weft_wait_until(team, &shared->credits[thread], WEFT_EQ, round) != WEFT_OK;
        double sum = thread + 1;
        faults += weft_allreduce(team, WEFT_IN_PLACE, &sum, 1, WEFT_DOUBLE, WEFT_SUM) != WEFT_OK;
        faults += sum != (thread + 1.0) * size;
    }
    return faults;
}

/// Calls on the memory of a local peer, through a context of this thread.
static int access_peer(int thread, weft_team* context, int peer) {
    const uint64_t one = 1;
    const double half = 0.5;
    uint64_t word = 0, block[kWords];
    int faults = 0;
    for (uint64_t round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kWords; ++i) block[i] = round + (uint64_t)i;
        faults += weft_put(context, shared->words[thread], block, sizeof block, peer) != WEFT_OK;
        faults += weft_get(context, &word, &shared->words[thread][7], 8, peer) != WEFT_OK;
        faults +=
            weft_put_strided(context, shared->words[thread], 16, block, 8, 8, 3, peer) != WEFT_OK;
        faults += weft_put_signal(context, shared->words[thread], block, 8,
                                  &shared->signals[thread], 1, 1, peer) != WEFT_OK;
        faults += weft_fetch_add(context, &shared->sum, 1, peer, &word) != WEFT_OK;
        faults += weft_atomic(context, WEFT_ATOMIC_ADD, WEFT_UINT64, &shared->sum, &one, NULL, NULL,
                              peer) != WEFT_OK;
        faults += weft_atomic(context, WEFT_ATOMIC_ADD, WEFT_DOUBLE, &shared->real, &half, NULL,
                              NULL, peer) != WEFT_OK;
    }
    return faults;
}

static void clear(void) {
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    memset(shared, 0, sizeof *shared);
    DONE(weft_barrier(world));
}

int main(void) {
    weft_team* teams[kThreads];
    weft_team* contexts[kThreads];
    void* memory;
    int faults = 0;
    if (weft_init_threads(WEFT_THREADS_MULTIPLE, &runtime) != WEFT_OK) return 1;
    world = weft_world(runtime);
    my_rank = weft_rank(world);
    size = weft_size(world);
    DONE(weft_calloc(world, 1, sizeof *shared, &memory));
    shared = memory;
    for (int thread = 0; thread < kThreads; ++thread) {
        DONE(weft_team_split(world, 0, 0, &teams[thread]));
        DONE(weft_context_create(world, 0, &contexts[thread]));
    }

#pragma omp parallel for num_threads(kThreads) schedule(static, 1) reduction(+ : faults)
    for (int thread = 0; thread < kThreads; ++thread) faults += use_own_team(thread, teams[thread]);
    CHECK(faults == 0);

    clear();
    DONE(weft_on_progress(runtime, wait_for_threads, NULL));
#pragma omp parallel for num_threads(kThreads) schedule(static, 1) reduction(+ : faults)
    for (int thread = 0; thread < kThreads; ++thread) {
        if (thread == 0) {
            faults += weft_wait_until(world, &shared->release, WEFT_EQ, 1) != WEFT_OK;
            continue;
        }
        while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE)) sched_yield();
        for (int peer = 0; peer < size; ++peer)
            if (weft_ptr(world, shared, peer) != NULL)
                faults += access_peer(thread, contexts[thread], peer);
        if (__atomic_add_fetch(&finished, 1, __ATOMIC_ACQ_REL) == kThreads - 1)
            faults +=
                weft_fetch_add(contexts[thread], &shared->release, 1, my_rank, NULL) != WEFT_OK;
    }
    CHECK(faults == 0);
    DONE(weft_on_progress(runtime, NULL, NULL));
    DONE(weft_quiet(world));
    DONE(weft_barrier(world));
    uint64_t local = 0;
    for (int peer = 0; peer < size; ++peer) local += weft_ptr(world, shared, peer) != NULL;
    CHECK(shared->sum == 2 * kRounds * (kThreads - 1) * local);
    CHECK(shared->real == 0.5 * kRounds * (kThreads - 1) * (double)local);
    DONE(weft_finalize(runtime));
    return verdict("all OpenMP threads are right");
}
