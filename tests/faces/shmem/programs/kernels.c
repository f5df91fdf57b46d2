/* SPDX-License-Identifier: BSD-3-Clause */
// kernels.c - short algorithms as users write them, with known results.
#include "program.h"

// Passes a token around a ring; each PE adds to it.
void ring(void) {
    static long token, sum;
    token = -1;
    shmem_barrier_all();
    if (me() == 0) {
        shmem_long_p(&token, 0, next_pe());
        shmem_long_wait_until(&token, SHMEM_CMP_NE, -1);
        sum = token;
    } else {
        shmem_long_wait_until(&token, SHMEM_CMP_NE, -1);
        shmem_long_p(&token, token + me(), next_pe());
    }
    shmem_barrier_all();
    if (me() == 0) CHECK(sum == (long)pes() * (pes() - 1) / 2);
    shmem_barrier_all();
}

// All PEs count values into bins that are spread over the PEs.
void histogram(void) {
    static unsigned bins[16];
    static unsigned long counted, all;
    unsigned random = 12345U + (unsigned)me();
    memset(bins, 0, sizeof bins);
    shmem_barrier_all();
    for (int i = 0; i < 500; ++i) {
        random = random * 1664525U + 1013904223U;
        const unsigned bin = (random >> 16) % (16U * (unsigned)pes());
        shmem_uint_atomic_inc(&bins[bin % 16], (int)(bin / 16));
    }
    shmem_barrier_all();
    counted = 0;
    for (int i = 0; i < 16; ++i) counted += bins[i];
    shmem_ulong_sum_reduce(SHMEM_TEAM_WORLD, &all, &counted, 1);
    CHECK(all == 500UL * (unsigned long)pes());
    shmem_barrier_all();
}

// Transposes a matrix in blocks of rows by strided puts.
void transpose(void) {
    enum { kRows = 4 };
    const int size = kRows * pes();
    double* from = shmem_malloc((size_t)(kRows * size) * sizeof *from);
    double* to = shmem_malloc((size_t)(kRows * size) * sizeof *to);
    for (int row = 0; row < kRows; ++row)
        for (int i = 0; i < size; ++i) from[row * size + i] = (me() * kRows + row) * 1000.0 + i;
    shmem_barrier_all();
    for (int pe = 0; pe < pes(); ++pe)
        for (int row = 0; row < kRows; ++row)
            shmem_double_iput(to + me() * kRows + row, from + row * size + pe * kRows, size, 1,
                              kRows, pe);
    shmem_barrier_all();
    for (int row = 0; row < kRows; ++row)
        for (int i = 0; i < size; ++i) CHECK(to[row * size + i] == i * 1000.0 + me() * kRows + row);
    shmem_free(to);
    shmem_free(from);
}

// An atomic counter on one PE hands out pieces of work; each piece is done once.
void work_queue(void) {
    static long next;
    static int done[200];
    next = 0;
    memset(done, 0, sizeof done);
    shmem_barrier_all();
    for (;;) {
        const long piece = shmem_long_atomic_fetch_inc(&next, 0);
        if (piece >= 200) break;
        shmem_int_atomic_inc(&done[piece], 0);
    }
    shmem_barrier_all();
    if (me() == 0)
        for (int i = 0; i < 200; ++i) CHECK(done[i] == 1);
    shmem_barrier_all();
}

// Exchanges values with both neighbours by puts with signals.
void halo(void) {
    static double cells[12];
    static uint64_t from_left, from_right;
    from_left = from_right = 0;
    for (int i = 1; i <= 10; ++i) cells[i] = me() * 10 + i;
    shmem_barrier_all();
    for (uint64_t step = 1; step <= 15; ++step) {
        shmem_double_put_signal(&cells[0], &cells[10], 1, &from_left, step, SHMEM_SIGNAL_SET,
                                next_pe());
        shmem_double_put_signal(&cells[11], &cells[1], 1, &from_right, step, SHMEM_SIGNAL_SET,
                                previous_pe());
        shmem_signal_wait_until(&from_left, SHMEM_CMP_GE, step);
        shmem_signal_wait_until(&from_right, SHMEM_CMP_GE, step);
        CHECK(cells[0] == previous_pe() * 10 + 10 + (double)(step - 1));
        CHECK(cells[11] == next_pe() * 10 + 1 + (double)(step - 1));
        shmem_barrier_all();
        for (int i = 1; i <= 10; ++i) cells[i] += 1;
    }
    shmem_barrier_all();
}

// Sends each key to the PE of its bucket, at a place from that PE's atomic counter; then sorts.
void bucket_sort(void) {
    enum { kKeys = 300 };
    static long at;
    static unsigned keys[kKeys * 64];
    unsigned random = 99U + (unsigned)me(), before = 0;
    static long have, all;
    at = 0;
    shmem_barrier_all();
    for (int i = 0; i < kKeys; ++i) {
        random = random * 1664525U + 1013904223U;
        const unsigned key = random >> 8;
        const int pe = (int)((unsigned long long)key * (unsigned)pes() >> 24);
        shmem_uint_p(&keys[shmem_long_atomic_fetch_inc(&at, pe)], key, pe);
    }
    shmem_barrier_all();
    for (long i = 1; i < at; ++i)  // insertion sort
        for (long j = i; j > 0 && keys[j - 1] > keys[j]; --j) {
            const unsigned key = keys[j];
            keys[j] = keys[j - 1];
            keys[j - 1] = key;
        }
    shmem_barrier_all();
    if (me() > 0) {
        const long count = shmem_long_g(&at, me() - 1);
        if (count > 0) before = shmem_uint_g(&keys[count - 1], me() - 1);
        if (at > 0) CHECK(before <= keys[0]);
    }
    have = at;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &have, 1);
    CHECK(all == (long)kKeys * pes());
    shmem_barrier_all();
}
