/* SPDX-License-Identifier: BSD-3-Clause */
// mistakes.c - programs that fail or end the job; main.c runs one only if its command names it.
#include "program.h"

void fails_on_last_pe(void) {
    CHECK(me() != pes() - 1);
}

void puts_outside(void) {
    long on_stack = 0;
    if (me() == 1) shmem_long_put(&on_stack, &on_stack, 1, 0);
    shmem_barrier_all();
}

void puts_to_unknown_pe(void) {
    static long word;
    if (me() == 1) shmem_long_p(&word, 1, pes());
    shmem_barrier_all();
}

void overlapping_blocks(void) {
    static long dest[8];
    const long source[8] = {0};
    if (me() == 1) shmem_ibput(dest, source, 2, 3, 3, 2, 0);
    shmem_barrier_all();
}

void clears_lock_twice(void) {
    static long lock;
    if (me() == 1) {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
}

void clears_lock_of_another_pe(void) {
    static long lock;
    if (me() == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me() == 1) shmem_clear_lock(&lock);
    shmem_barrier_all();
}

void frees_inner_pointer(void) {
    long* block = shmem_malloc(8);
    if (me() == 1) shmem_free(block + 1);
    shmem_barrier_all();
}

void allocates_six_mebibytes(void) {
    char* block = shmem_malloc(6 << 20);
    CHECK(block != NULL);
    shmem_free(block);
}

// The standard leaves alignments below sizeof(void*) undefined; other suites expect memory.
void allocates_at_small_alignments(void) {
    for (size_t alignment = 1; alignment <= 64; alignment *= 2) {
        char* block = shmem_align(alignment, 100);
        CHECK(block != NULL && (size_t)block % alignment == 0);
        shmem_free(block);
    }
}

void exits_with_7(void) {
    if (me() == pes() - 1) shmem_global_exit(7);
    shmem_barrier_all();
}

// The status of the call becomes the status of the job, even 0.
void exits_with_0(void) {
    if (me() == pes() - 1) shmem_global_exit(0);
    shmem_barrier_all();
}

void exits_with_255(void) {
    if (me() == pes() - 1) shmem_global_exit(255);
    shmem_barrier_all();
}
