/* SPDX-License-Identifier: BSD-3-Clause */
// children.c - forked children of a PE that end or call routines; the job must not be affected.
#define _GNU_SOURCE  // fork, execl, alarm
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

enum { kSeconds = 10, kRefused = 1 };  // limit for a child; its status if its call is refused

static void leaves_by_exit(void) {
    exit(0);
}
static void fails_by_exit(void) {
    exit(3);
}
static void leaves_by__exit(void) {
    _exit(3);
}
static void leaves_by_exec(void) {
    execl("/bin/sh", "sh", "-c", "exit 3", (char*)NULL);
}
static void leaves_by_global_exit(void) {
    shmem_global_exit(3);
}
static void finalizes(void) {
    shmem_finalize();
    exit(0);
}
static void forks_again(void) {
    const pid_t child = fork();
    int status = -1;
    if (child == 0) exit(0);
    waitpid(child, &status, 0);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

static long* shared;  // a word in the symmetric heap

static void puts_word(void) {
    shmem_long_p(shared, -1, next_pe());
}
static void adds_to_word(void) {
    shmem_long_atomic_add(shared, 1, next_pe());
}
static void enters_barrier(void) {
    shmem_barrier_all();
}
static void initializes(void) {
    shmem_init();
}

// Returns the exit status of a child, or 128 + the signal that ended it: SIGALRM if it hangs.
static int status_of(void (*call)(void)) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(kSeconds);
        call();
        _exit(77);  // the call has returned
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void children_end(void) {
    shared = shmem_malloc(sizeof *shared);
    *shared = me();
    shmem_barrier_all();
    CHECK(status_of(leaves_by_exit) == 0);
    CHECK(status_of(fails_by_exit) == 3);
    CHECK(status_of(leaves_by__exit) == 3);
    CHECK(status_of(leaves_by_exec) == 3);
    CHECK(status_of(leaves_by_global_exit) == 3);
    CHECK(status_of(finalizes) == 0);
    CHECK(status_of(forks_again) == 0);
    CHECK(status_of(puts_word) == kRefused);
    CHECK(status_of(adds_to_word) == kRefused);
    CHECK(status_of(enters_barrier) == kRefused);
    CHECK(status_of(initializes) == kRefused);
    shmem_barrier_all();
    CHECK(*shared == me());
    shmem_barrier_all();
    shmem_long_p(shared, 100 + me(), next_pe());
    shmem_barrier_all();
    CHECK(*shared == 100 + previous_pe());
    shmem_free(shared);
}
