/* SPDX-License-Identifier: BSD-3-Clause */
// program.h - shared by the test programs: a check, and numbers of PEs.
//
// Idea     A program is a function that all PEs call and that uses shmem.h as users do. main.c
//          runs the programs one after another in one job. A failed check is printed and counted,
//          and makes the job's status 1.
#ifndef WEFT_TESTS_SHMEM_PROGRAM_H
#define WEFT_TESTS_SHMEM_PROGRAM_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int failures;         // failed checks of this PE
extern const char* running;  // name of the program that main.c calls now

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

// Prints at most ten failures of a PE, because one mistake often fails many checks.
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition) && failures++ < 10)                                              \
            fprintf(stderr, "%s: PE %d of %d: %s:%d: failed: %s\n", running, me(), pes(), \
                    __FILE__, __LINE__, #condition);                                      \
    } while (0)

#endif
