/* SPDX-License-Identifier: BSD-3-Clause */
// mistakes.c - wrong programs, run by name only, whose errors the suite or the library must report.
#include "program.h"

void fails_at_the_last(void) {
    CHECK(me() != pes() - 1);
}

void puts_outside(void) {
    long on_stack = 0;
    if (me() == 1) shmem_long_put(&on_stack, &on_stack, 1, 0);
    shmem_barrier_all();
}

void puts_to_nobody(void) {
    static long word;
    if (me() == 1) shmem_long_p(&word, 1, pes());
    shmem_barrier_all();
}

void clears_twice(void) {
    static long lock;
    if (me() == 1) {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
}

void frees_twice(void) {
    long* block = shmem_malloc(8);
    if (me() == 1) shmem_free(block + 1);
    shmem_barrier_all();
}

void allocates_six_mebibytes(void) {
    char* block = shmem_malloc(6 << 20);
    CHECK(block != NULL);
    shmem_free(block);
}

// Undefined by the standard; test suites of other libraries expect memory.
void allocates_at_small_alignments(void) {
    for (size_t alignment = 1; alignment <= 64; alignment *= 2) {
        char* block = shmem_align(alignment, 100);
        CHECK(block != NULL && (size_t)block % alignment == 0);
        shmem_free(block);
    }
}

void ends_all(void) {
    if (me() == pes() - 1) shmem_global_exit(7);
    shmem_barrier_all();
}

// The job's status is the call's status, even 0.
void ends_all_well(void) {
    if (me() == pes() - 1) shmem_global_exit(0);
    shmem_barrier_all();
}

void ends_all_at_255(void) {
    if (me() == pes() - 1) shmem_global_exit(255);
    shmem_barrier_all();
}
