/* SPDX-License-Identifier: BSD-3-Clause */
// intsort.c - sorts integers over all PEs; an OpenSHMEM program that does not use
// weft's own interface.
//
// Idea     Keys are uniform, so each PE owns an equal range of keys: its bucket. A PE orders its
//          keys by bucket. It reserves space in each owner's bucket by an atomic addition, and puts
//          the keys there. Owners then sort their bucket by counting.
// Check    Each PE checks that its keys are ascending and in its range, and that they do not
//          precede the last key of the previous PE. Three sums must not change when the keys move:
//          the number of keys, the sum of keys, and the sum of a hash of each key.
//
// usage: intsort [KEYS_PER_PE [ROUNDS [SEED]]]      status: 0 sorted, 1 wrong, 2 invalid arguments
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_BITS 21

static long filled;  // keys in this PE's bucket; other PEs add to it
static uint64_t before[3], after[3], sum_before[3], sum_after[3];  // sums of this PE and of all PEs
static double seconds, longest;  // time of this PE, and of the slowest PE
static uint32_t last_key;        // largest key of this bucket, if has_keys
static long has_keys;
static long wrong, wrong_in_all;  // errors found by this PE, and by all PEs

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 31) * 0x7fb5d329728ea185ULL;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44dULL;
    return x ^ x >> 33;
}

static void add_to_sums(uint64_t* sums, uint32_t key) {
    sums[0] += 1;
    sums[1] += key;
    sums[2] += mix(key + 1);
}

// Orders the keys by bucket; ends[b] is the end of bucket b.
static void order_by_bucket(const uint32_t* keys, long count, uint32_t width, uint32_t* ordered,
                            long* ends, int pes) {
    memset(ends, 0, (size_t)pes * sizeof *ends);
    for (long i = 0; i < count; ++i) ++ends[keys[i] / width];
    long start = 0;
    for (int b = 0; b < pes; ++b) {
        const long size = ends[b];
        ends[b] = start;
        start += size;
    }
    for (long i = 0; i < count; ++i) ordered[ends[keys[i] / width]++] = keys[i];
}

static void exchange(const uint32_t* ordered, const long* ends, uint32_t* bucket, long capacity) {
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    for (int i = 0; i < pes; ++i) {
        const int pe = (me + i) % pes;  // PEs start with different peers
        const long start = pe == 0 ? 0 : ends[pe - 1], count = ends[pe] - start;
        if (count == 0) continue;
        const long place = shmem_long_atomic_fetch_add(&filled, count, pe);
        if (place + count > capacity) {
            fprintf(stderr, "intsort: PE %d: the bucket of PE %d is full\n", me, pe);
            shmem_global_exit(1);
        }
        shmem_uint32_put(bucket + place, ordered + start, (size_t)count, pe);
    }
    shmem_barrier_all();
}

// Writes the sorted keys of the bucket. counts: memory for the number of keys of each value.
static void count_keys(const uint32_t* bucket, uint32_t first, uint32_t width, uint32_t* counts,
                       uint32_t* sorted) {
    memset(counts, 0, width * sizeof *counts);
    for (long i = 0; i < filled; ++i) ++counts[bucket[i] - first];
    long at = 0;
    for (uint32_t key = 0; key < width; ++key)
        for (uint32_t n = 0; n < counts[key]; ++n) sorted[at++] = first + key;
}

static void check(const uint32_t* sorted, uint32_t first, uint32_t width) {
    memset(after, 0, sizeof after);
    for (long i = 0; i < filled; ++i) {
        wrong += sorted[i] < first || sorted[i] - first >= width;
        wrong += i > 0 && sorted[i - 1] > sorted[i];
        add_to_sums(after, sorted[i]);
    }
    has_keys = filled > 0;
    if (filled > 0) last_key = sorted[filled - 1];
    shmem_barrier_all();
    if (shmem_my_pe() > 0 && filled > 0 && shmem_long_g(&has_keys, shmem_my_pe() - 1))
        wrong += shmem_uint32_g(&last_key, shmem_my_pe() - 1) > sorted[0];
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sum_before, before, 3);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sum_after, after, 3);
    wrong += memcmp(sum_before, sum_after, sizeof sum_before) != 0;
}

int main(int argc, char** argv) {
    const long count = argc > 1 ? atol(argv[1]) : 1000000, rounds = argc > 2 ? atol(argv[2]) : 3;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    if (count < 1 || count > 1L << 30 || rounds < 1) {
        fprintf(stderr, "usage: intsort [KEYS_PER_PE [ROUNDS [SEED]]]\n");
        return 2;
    }
    shmem_init();
    const int me = shmem_my_pe(), pes = shmem_n_pes();
    const uint32_t width = ((1U << KEY_BITS) + (uint32_t)pes - 1) / (uint32_t)pes;
    const uint32_t first = width * (uint32_t)me;
    const long capacity = count + count / 4 + 1000;  // keys are uniform, so buckets differ little
    uint32_t* bucket = shmem_malloc((size_t)capacity * sizeof *bucket);
    uint32_t* keys = malloc((size_t)count * sizeof *keys);
    uint32_t* ordered = malloc((size_t)count * sizeof *ordered);
    uint32_t* sorted = malloc((size_t)capacity * sizeof *sorted);
    uint32_t* counts = malloc(width * sizeof *counts);
    long* ends = malloc((size_t)pes * sizeof *ends);
    if (bucket == NULL || !keys || !ordered || !sorted || !counts || !ends) {
        fprintf(stderr, "intsort: PE %d: not enough memory\n", me);
        shmem_global_exit(2);
    }
    for (long round = 0; round < rounds; ++round) {
        filled = 0;
        memset(before, 0, sizeof before);
        for (long i = 0; i < count; ++i) {
            const uint64_t drawn = mix(seed + (uint64_t)((round * pes + me) * count + i) * 2 + 1);
            keys[i] = (uint32_t)(drawn >> (64 - KEY_BITS));
            add_to_sums(before, keys[i]);
        }
        shmem_barrier_all();
        const double start = now();
        order_by_bucket(keys, count, width, ordered, ends, pes);
        exchange(ordered, ends, bucket, capacity);
        count_keys(bucket, first, width, counts, sorted);
        seconds += now() - start;
        check(sorted, first, width);
        shmem_barrier_all();
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &wrong_in_all, &wrong, 1);
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &longest, &seconds, 1);
    if (me == 0)
        printf("%d PEs, %ld keys each, %ld rounds: %.1f million keys/s, %s\n", pes, count, rounds,
               1e-6 * (double)(count * rounds * pes) / longest,
               wrong_in_all == 0 ? "sorted" : "wrong");
    fflush(stdout);
    free(ends);
    free(counts);
    free(sorted);
    free(ordered);
    free(keys);
    shmem_free(bucket);
    shmem_finalize();
    return wrong_in_all == 0 ? 0 : 1;
}
