/* SPDX-License-Identifier: BSD-3-Clause */
// program.h - what the programs of this suite share: a check, and who is who.
//
// Idea     A program is a function that all PEs call, written as users write theirs; main.c runs
//          one after the other in one job. A check that fails is printed and counted, and the job's
//          status is 1.
#ifndef WEFT_TESTS_SHMEM_PROGRAM_H
#define WEFT_TESTS_SHMEM_PROGRAM_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int failures;         // of this PE
extern const char* running;  // the program's name

static inline int me(void) {
    return shmem_my_pe();
}
static inline int pes(void) {
    return shmem_n_pes();
}
static inline int next_pe(void) {
    return (me() + 1) % pes();
}
static inline int previous_pe(void) {
    return (me() + pes() - 1) % pes();
}

// At most ten of a PE: one mistake tends to fail many checks.
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition) && failures++ < 10)                                              \
            fprintf(stderr, "%s: PE %d of %d: %s:%d: not so: %s\n", running, me(), pes(), \
                    __FILE__, __LINE__, #condition);                                      \
    } while (0)

#endif
