/* SPDX-License-Identifier: BSD-3-Clause */
/* cells.c - times calls of OpenSHMEM; works with any library that has shmem.h.
 *
 * usage: cells [SCALE]
 *
 * Idea     PEs 0 and 1 measure transfers, all PEs the collectives. Each line has a name, a value
 *          and a unit. In us, smaller is better, in M/s and GB/s, larger. perf/shmem/run compares
 *          the values of two libraries.
 * Holds    Received values are checked, so that a library cannot be fast by doing nothing.
 */
#define _POSIX_C_SOURCE 200809L
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kLarge = 1 << 20, kRepeats = 5 };

typedef struct { /* each word in its own cache line */
    long word, pad_1[15], answer, pad_2[15], counter, pad_3[15];
    uint64_t signal_word;
    char large[kLarge];
} memory;
static memory* shared; /* allocated: access to static variables differs most between libraries */
static long source_word = 5;
static char source[kLarge];
static long sync_words[2][SHMEM_BCAST_SYNC_SIZE];
static int me, pes, wrong;
static double scale = 1;

/* OpenSHMEM 1.4 lacks a put with a signal; programs for it put, fence and put the signal word. */
static void put_signal(long* to, const long* from, uint64_t* signal, uint64_t value, int pe) {
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
    shmem_long_put_signal(to, from, 1, signal, value, SHMEM_SIGNAL_SET, pe);
#else
    shmem_long_put(to, from, 1, pe);
    shmem_fence();
    shmem_long_p((long*)signal, (long)value, pe);
#endif
}

/* Uses the deprecated broadcast, which all versions of OpenSHMEM have. Two arrays of sync words
 * alternate, because another PE may still use the last one. */
static void broadcast(void* to, const void* from, size_t words) {
    static int next = 0;
    next = !next;
    shmem_broadcast64(to, from, words, 0, 0, 0, pes, sync_words[next]);
}

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

static int by_size(const void* a, const void* b) {
    const double difference = *(const double*)a - *(const double*)b;
    return difference < 0 ? -1 : difference > 0;
}

/* Repeats calls(count), which returns the number of calls made, and prints the median in `unit`.
 * bytes: size of a call for GB/s. */
static void measure(const char* name, const char* unit, long (*calls)(long count), double bytes,
                    long count) {
    double values[kRepeats];
    count = count * scale < 1 ? 1 : (long)(count * scale);
    for (int i = 0; i < kRepeats; ++i) {
        shmem_barrier_all();
        const double start = now_us();
        const long call_count = calls(count);
        const double us = (now_us() - start) / (call_count == 0 ? 1 : call_count);
        values[i] = unit[0] == 'u' ? us : unit[0] == 'M' ? 1 / us : bytes / us * 1e-3;
        shmem_barrier_all();
    }
    qsort(values, kRepeats, sizeof values[0], by_size);
    if (me == 0) printf("%s %.6g %s\n", name, values[kRepeats / 2], unit);
}

static long put_ping_pong(long count) {
    if (me > 1) return 1;
    static long round = 0;
    for (long i = 0; i < count; ++i) {
        ++round;
        if (me == 0) shmem_long_p(&shared->word, round, 1);
        shmem_long_wait_until(&shared->word, SHMEM_CMP_EQ, round);
        if (me == 1) shmem_long_p(&shared->word, round, 0);
    }
    return 2 * count;
}
static long signal_ping_pong(long count) {
    if (me > 1) return 1;
    static uint64_t round = 0;
    for (long i = 0; i < count; ++i) {
        ++round;
        if (me == 0) put_signal(&shared->answer, &source_word, &shared->signal_word, round, 1);
        shmem_long_wait_until((long*)&shared->signal_word, SHMEM_CMP_EQ, (long)round);
        if (me == 1) put_signal(&shared->answer, &source_word, &shared->signal_word, round, 0);
    }
    wrong |= shared->answer != source_word;
    return 2 * count;
}
static long put_rate(long count) {
    if (me != 0) return 1;
    for (long i = 0; i < count; ++i) shmem_long_p(&shared->word, i, 1);
    shmem_quiet();
    wrong |= shmem_long_g(&shared->word, 1) != count - 1;
    return count;
}
static long fetch_add(long count) {
    if (me != 0) return 1;
    for (long i = 0; i < count; ++i) (void)shmem_long_atomic_fetch_add(&shared->counter, 1, 1);
    return count;
}
static long add_rate(long count) {
    if (me != 0) return 1;
    const long before = shmem_long_atomic_fetch(&shared->counter, 1);
    for (long i = 0; i < count; ++i) shmem_long_atomic_add(&shared->counter, 1, 1);
    shmem_quiet();
    wrong |= shmem_long_atomic_fetch(&shared->counter, 1) != before + count;
    return count;
}
static long get_word(long count) {
    long seen = 0;
    if (me != 0) return 1;
    for (long i = 0; i < count; ++i) seen |= shmem_long_g(&shared->answer, 1);
    wrong |= seen != source_word;
    return count;
}
static long put_large(long count) {
    if (me != 0) return 1;
    for (long i = 0; i < count; ++i) shmem_putmem(shared->large, source, kLarge, 1);
    shmem_quiet();
    return count;
}
static long barrier(long count) {
    for (long i = 0; i < count; ++i) shmem_barrier_all();
    return count;
}
static long broadcast_word(long count) {
    for (long i = 0; i < count; ++i) broadcast(&shared->answer, &source_word, 1);
    wrong |= me != 0 && shared->answer != source_word;
    return count;
}
static long broadcast_large(long count) {
    for (long i = 0; i < count; ++i) broadcast(shared->large, source, kLarge / sizeof(long));
    return count;
}

int main(int argc, char** argv) {
    if (argc > 1) scale = atof(argv[1]);
    shmem_init();
    shared = shmem_malloc(sizeof *shared);
    memset(shared, 0, sizeof *shared);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    memset(source, 3, sizeof source);
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; ++i)
        sync_words[0][i] = sync_words[1][i] = SHMEM_SYNC_VALUE;
    measure("put-half-round-trip", "us", put_ping_pong, 0, 20000);
    measure("put-signal-one-way", "us", signal_ping_pong, 0, 20000);
    measure("put-rate", "M/s", put_rate, 0, 2000000);
    measure("fetch-add", "us", fetch_add, 0, 500000);
    measure("add-rate", "M/s", add_rate, 0, 1000000);
    measure("get", "us", get_word, 0, 500000);
    measure("put-1MiB", "GB/s", put_large, kLarge, 500);
    measure("barrier", "us", barrier, 0, 20000);
    measure("broadcast-8", "us", broadcast_word, 0, 20000);
    measure("broadcast-1MiB", "us", broadcast_large, 0, 200);
    if (me == 0) printf("checked %d -\n", wrong == 0 && source[7] == 3);
    fflush(stdout);
    shmem_free(shared);
    shmem_finalize();
    return wrong;
}
