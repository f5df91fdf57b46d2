/* SPDX-License-Identifier: BSD-3-Clause */
// threads.c - four threads of each PE put, wait and reduce at once (SHMEM_THREAD_MULTIPLE).
//
// Idea     Each thread has its own words, its own context and its own team of all PEs. All threads
//          share a counter. A thread waits for words that the thread with its number writes from
//          the previous PE; meanwhile the other threads continue.
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>

enum { kThreads = 4, kRounds = 60 };

static long counter, words[kThreads], sums[kThreads], ones[kThreads] = {1, 1, 1, 1};
static uint64_t signals[kThreads];
static double blocks[kThreads][200];
static shmem_team_t teams[kThreads];
static int failures[kThreads];

static void* work(void* argument) {
    const int thread = (int)(size_t)argument, me = shmem_my_pe(), n = shmem_n_pes();
    const int next = (me + 1) % n, before = (me + n - 1) % n;
    shmem_ctx_t ctx;
    failures[thread] += shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0;
    for (int round = 1; round <= kRounds; ++round) {
        double block[200];
        for (int i = 0; i < 200; ++i) block[i] = me * 1000 + round + i;
        shmem_ctx_long_atomic_inc(ctx, &counter, round % n);
        shmem_ctx_double_put_signal(ctx, blocks[thread], block, 200, &signals[thread],
                                    (uint64_t)round, SHMEM_SIGNAL_SET, next);
        shmem_signal_wait_until(&signals[thread], SHMEM_CMP_GE, (uint64_t)round);
        failures[thread] += blocks[thread][199] != before * 1000 + round + 199;
        shmem_ctx_long_p(ctx, &words[thread], round, next);
        shmem_long_wait_until(&words[thread], SHMEM_CMP_GE, round);
        shmem_long_sum_reduce(teams[thread], &sums[thread], &ones[thread], 1);
        failures[thread] += sums[thread] != n;
        shmem_ctx_quiet(ctx);
        failures[thread] += shmem_ctx_long_g(ctx, &words[thread], me) < round;
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

int main(void) {
    static long failed, all;
    pthread_t threads[kThreads];
    int provided = -1;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    const int n = shmem_n_pes();
    failed = provided != SHMEM_THREAD_MULTIPLE;
    for (int i = 0; i < kThreads; ++i)
        failed += shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &teams[i]) != 0;
    shmem_barrier_all();
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)(size_t)i);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    shmem_barrier_all();
    long counted = 0;
    for (int pe = 0; pe < n; ++pe) counted += shmem_long_g(&counter, pe);
    failed += counted != (long)kThreads * kRounds * n;
    for (int i = 0; i < kThreads; ++i) failed += failures[i];
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &failed, 1);
    if (shmem_my_pe() == 0) printf("%d threads of %d PEs: %ld failures\n", kThreads, n, all);
    fflush(stdout);
    shmem_finalize();
    return all == 0 ? 0 : 1;
}
